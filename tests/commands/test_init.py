"""`goldsmith init`: everything is shown first, only what was shown is written, and what is somebody's stays."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from goldsmith.cli.app import commands as cli_commands
from goldsmith.courses.scaffold.changes import Change, apply
from goldsmith.courses.skills.bundled import skill_files
from goldsmith.courses.skills.signature import marked
from goldsmith.errors.gold import CannotWrite
from support.course import CourseOnDisk, copy_of_example, numpy_course
from support.terminal import Terminal

DOWN, ENTER, ESCAPE, CTRL_C, SPACE = "\x1b[B", "\r", "\x1b", "\x03", " "
WORKFLOW = ".github/workflows/goldsmith.yml"
SKILLS = {file.place.as_posix() for file in skill_files()}
WRITTEN = {"goldsmith.toml", "pytest.ini", ".gitignore", WORKFLOW}
WITH = ("--with", "skills", "--with", "scripts")
ASKED_FOR = SKILLS | {"scripts/dev_utils.py"}


def everything(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below `root`, git's own apart from its hooks, with its bytes and mode."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and (".git" not in path.parts or path.name == "pre-commit")
    }


def outcomes(course: CourseOnDisk, *arguments: str) -> dict[str, str]:
    return {item["name"]: item["outcome"] for item in course.run("init", "--json", *arguments).json["files"]}


@pytest.fixture
def empty(tmp_path: Path) -> CourseOnDisk:
    """An empty folder with a space in its name."""
    folder = tmp_path / "my course"
    folder.mkdir()
    return CourseOnDisk(folder)


@pytest.fixture
def repository(empty: CourseOnDisk) -> CourseOnDisk:
    empty.git("init", "--quiet")
    return empty


def test_without_a_terminal_it_only_shows_and_says_how_to_agree(empty: CourseOnDisk) -> None:
    run = empty.run("init")
    assert run.code == 1
    assert '+assignments = "src/assignments"' in run.out
    assert "new      pytest.ini" in run.out
    assert "nothing was written: 4 files wait for your approval; use --yes" in run.err
    assert everything(empty.root) == {}
    run = empty.run("init", "--json")
    assert run.code == 1
    assert run.json["error"]["kind"] == "not-agreed"
    assert {item["outcome"] for item in run.json["files"]} == {"left", "skipped"}
    assert everything(empty.root) == {}


def test_a_dry_run_shows_all_of_it_and_is_no_failure(empty: CourseOnDisk) -> None:
    run = empty.run("init", "--dry-run", "--yes")
    assert run.code == 0
    assert run.last_line == "Nothing was written: this was --dry-run."
    assert everything(empty.root) == {}


def test_a_second_run_changes_no_byte(repository: CourseOnDisk) -> None:
    run = repository.run("init", "--yes")
    assert run.code == 0
    assert run.last_line == "Next: goldsmith new NAME"
    before = everything(repository.root)
    assert set(before) == WRITTEN | {".git/hooks/pre-commit"}
    again = repository.run("init")
    assert again.code == 0
    assert "Everything is there already." in again.out
    assert everything(repository.root) == before
    assert set(outcomes(repository, "--yes").values()) == {"unchanged"}
    assert everything(repository.root) == before


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert CourseOnDisk(tmp_path).run("init", "new/one", "--yes").code == 0
    assert set(everything(tmp_path / "new/one")) == WRITTEN
    (tmp_path / "file").write_text("x")
    run = CourseOnDisk(tmp_path).run("init", "file", "--yes")
    assert run.code == 2
    assert "is a file; name the folder" in run.err


def test_every_file_keeps_what_people_write_into_it(repository: CourseOnDisk) -> None:
    repository.run("init", "--yes", *WITH)
    for name in everything(repository.root):
        with (repository.root / name).open("a") as file:
            file.write("# mine\n")
    before = everything(repository.root)
    found = outcomes(repository, "--yes")
    assert everything(repository.root) == before
    assert found[".git/hooks/pre-commit"] == "by-hand"
    assert {found[name] for name in SKILLS} == {"kept"}
    repository.write({"scripts/dev_utils.py": "# a script of our own\n"})
    run = repository.run("init", "--yes")
    assert "yours    scripts/dev_utils.py" in run.out
    assert (repository.root / "scripts/dev_utils.py").read_text() == "# a script of our own\n"


def test_skills_and_scripts_come_where_they_are_asked_for(empty: CourseOnDisk) -> None:
    empty.run("init", "--yes")
    assert set(everything(empty.root)) == WRITTEN
    empty.write({".claude/skills/review/SKILL.md": "Our own.\n"})
    assert not ASKED_FOR & set(outcomes(empty, "--yes"))
    assert empty.run("init", "--yes", *WITH).code == 0
    assert set(everything(empty.root)) == WRITTEN | ASKED_FOR | {".claude/skills/review/SKILL.md"}
    assert {outcomes(empty, "--yes")[name] for name in ASKED_FOR} == {"unchanged"}, "found, they are looked after"


def test_skills_of_an_older_goldsmith_are_renewed(empty: CourseOnDisk) -> None:
    empty.run("init", "--yes", "--with", "skills")
    grade = empty.root / ".claude/skills/grade/SKILL.md"
    new = grade.read_bytes()
    grade.write_text(marked("An older text.\n"))
    assert outcomes(empty, "--yes")[".claude/skills/grade/SKILL.md"] == "written"
    assert grade.read_bytes() == new
    assert empty.run("skills", "install", "--check").code == 0


def test_parts_can_be_left_out(empty: CourseOnDisk) -> None:
    assert empty.run("init", "--yes", *WITH, "--without", "ci", "--without", "scripts").code == 0
    assert set(everything(empty.root)) == WRITTEN - {WORKFLOW} | SKILLS


def test_what_needs_git_is_said_and_comes_with_it(empty: CourseOnDisk) -> None:
    run = empty.run("init", "--yes")
    assert "this is not a git repository; run `git init`, then `goldsmith init` again" in run.out
    empty.git("init", "--quiet")
    assert outcomes(empty, "--yes")[".git/hooks/pre-commit"] == "written"
    assert os.access(empty.root / ".git/hooks/pre-commit", os.X_OK)


def test_the_bundled_course_needs_next_to_nothing(tmp_path: Path) -> None:
    example = copy_of_example(tmp_path / "example")
    found = outcomes(example)
    assert found["goldsmith.toml"] == found["pyproject.toml"] == found["scripts/dev_utils.py"] == "unchanged"


# --- CI


def test_ci_runs_commands_that_this_goldsmith_understands(empty: CourseOnDisk) -> None:
    empty.run("init", "--yes")
    workflow = yaml.safe_load((empty.root / WORKFLOW).read_text())
    lines = [line for step in workflow["jobs"]["gold"]["steps"] for line in step.get("run", "").splitlines()]
    commands = [line for line in lines if line.startswith("goldsmith ")]
    assert commands == ["goldsmith generate all --check", "goldsmith guard", "goldsmith test all"]
    words = (empty.root / WORKFLOW).read_text().replace("\n# ", " ")
    assert "compared within the noise" in words, "as `generate --check` does without --exact"
    assert any(line.strip() == 'pip install "goldsmith[torch] @ $GOLDSMITH" pytest' for line in lines)
    known = dict(cli_commands())
    for line in commands:
        _, name, *arguments = shlex.split(line)
        command = known[name]
        command.make_context(name, arguments)
        with pytest.raises(Exception, match="No such option"):
            command.make_context(name, [*arguments, "--no-such-option"])


def test_ci_installs_what_the_course_uses(course: CourseOnDisk) -> None:
    course.write({"requirements.txt": "numpy\n"})
    course.run("init", "--yes")
    text = (course.root / WORKFLOW).read_text()
    assert "pip install -r requirements.txt\n" in text
    assert 'pip install "goldsmith @ $GOLDSMITH" pytest\n' in text, "nothing here imports torch"


def test_ci_of_another_kind_or_further_up_is_left_to_people(tmp_path: Path) -> None:
    inner = numpy_course(tmp_path / "repository/course")
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repository")], check=True)
    run = inner.run("init", "--yes")
    assert "CI files belong in the root of the repository" in run.out
    assert "    goldsmith generate all --check" in run.out
    assert not (tmp_path / "repository/.github").exists()
    assert not (inner.root / ".github").exists()
    assert (tmp_path / "repository/.git/hooks/pre-commit").is_file(), "hooks belong to the repository"
    other = numpy_course(tmp_path / "other").write({".gitlab-ci.yml": "stages: []\n"})
    assert outcomes(other, "--yes")[".gitlab-ci.yml"] == "by-hand"
    assert (other.root / ".gitlab-ci.yml").read_text() == "stages: []\n"


# --- git


def test_gold_that_a_pattern_would_hide_is_taken_out_of_it(repository: CourseOnDisk) -> None:
    repository.write({".gitignore": "*.pt\n*.npz\nprivate/grades/"})
    repository.run("init", "--yes")
    lines = (repository.root / ".gitignore").read_text().splitlines()
    assert lines[:3] == ["*.pt", "*.npz", "private/grades/"]
    assert lines.count("private/grades/") == 1
    fixtures = "tests/internal/fixtures/hw1"
    repository.write({f"{fixtures}/gold_output.pt": "x", f"{fixtures}/gold_output.npz": "x", "weights.pt": "x"})
    status = repository.git("status", "--porcelain", "--untracked-files=all")
    assert f"?? {fixtures}/gold_output.pt" in status
    assert f"?? {fixtures}/gold_output.npz" in status
    assert "weights.pt" not in status


def test_gold_in_a_folder_that_git_ignores_is_pointed_out(repository: CourseOnDisk) -> None:
    repository.write({".gitignore": "fixtures/\n"})
    assert "git ignores all of tests/internal/fixtures/" in repository.run("init", "--yes").out


def test_solutions_are_not_ignored_and_what_stays_local_is(repository: CourseOnDisk) -> None:
    repository.run("init", "--yes")
    repository.run("new", "hw1", "--kind", "numpy")
    assert repository.run("generate", "hw1").code == 0
    repository.write({"private/grades/ada.md": "secret", "tests/internal/reports/hw1.txt": "secret"})
    status = repository.git("status", "--porcelain", "--untracked-files=all")
    assert "?? private/solutions/hw1/hw1_solution.py" in status
    assert "?? tests/internal/fixtures/hw1/gold_output.npz" in status
    assert "private/grades" not in status
    assert "reports" not in status
    assert ".goldsmith" not in status


def test_line_ends_of_windows_stay(repository: CourseOnDisk) -> None:
    (repository.root / ".gitignore").write_bytes(b"*.log\r\n")
    (repository.root / "pytest.ini").write_bytes(b"[pytest]\r\naddopts = -q\r\n")
    repository.run("init", "--yes")
    for name in (".gitignore", "pytest.ini"):
        content = (repository.root / name).read_bytes()
        assert content.count(b"\n") == content.count(b"\r\n") > 3


def test_a_hook_of_somebody_else_and_a_folder_for_all_repositories_stay(
    repository: CourseOnDisk, tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    repository.git("config", "core.hooksPath", str(tmp_path / "shared"))
    run = repository.run("init", "--yes")
    assert "is outside this repository, and others may use it" in run.out
    assert "-m goldsmith guard --staged --course" in run.out
    assert not list((tmp_path / "shared").iterdir())


def test_a_hook_whose_python_is_gone_is_renewed(repository: CourseOnDisk) -> None:
    repository.run("init", "--yes")
    hook = repository.root / ".git/hooks/pre-commit"
    right = hook.read_text()
    hook.write_text(right.replace("exec ", "exec /no/such/place"))
    assert outcomes(repository, "--yes")[".git/hooks/pre-commit"] == "written"
    assert hook.read_text() == right


# --- what stands in the way


def test_nothing_is_written_through_a_link(repository: CourseOnDisk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "ignored").write_text("*.log\n")
    (repository.root / "scripts").symlink_to(outside)
    (repository.root / ".github").symlink_to(outside)
    (repository.root / ".gitignore").symlink_to(outside / "ignored")
    (repository.root / "goldsmith.toml").symlink_to(outside / "nowhere")
    (repository.root / "pytest.ini").write_text("")
    run = repository.run("init", "--yes", *WITH)
    assert run.code == 0
    assert run.out.count("goldsmith does not write through links") == 4
    assert [path.name for path in outside.iterdir()] == ["ignored"]
    assert (outside / "ignored").read_text() == "*.log\n"


def test_a_file_where_a_folder_should_be_is_left_alone(empty: CourseOnDisk) -> None:
    empty.write({"scripts": "mine\n"})
    run = empty.run("init", "--yes", *WITH)
    assert run.code == 0
    assert "a file is where its folder would be" in run.out
    assert (empty.root / "scripts").read_text() == "mine\n"


def test_one_that_cannot_be_written_undoes_those_before_it(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"before")
    (tmp_path / "file").write_bytes(b"")
    changes = [
        Change("settings", tmp_path / "a/b/new", "create", b"new"),
        Change("marker", old, "extend", b"after", b"before", mode=0o640),
        Change("scripts", tmp_path / "file/x", "create", b"x"),
    ]
    with pytest.raises(CannotWrite):
        apply(changes)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "old"]
    assert old.read_bytes() == b"before"


def test_a_folder_that_may_not_be_written_to_stays_as_it_is(repository: CourseOnDisk) -> None:
    repository.write({"scripts/other.py": "mine\n"})
    before = everything(repository.root)
    prefix = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.getuid() == 0 else []
    (repository.root / "scripts").chmod(0o555)
    try:
        run = repository.run("init", "--yes", *WITH, prefix=prefix)
    finally:
        (repository.root / "scripts").chmod(0o755)
    assert run.code == 3
    assert "dev_utils.py cannot be written (Permission denied)" in run.err
    assert everything(repository.root) == before, "what was written before that is undone"


# --- at a terminal


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (ESCAPE, 130),
        pytest.param(CTRL_C, 130, marks=pytest.mark.long),
        pytest.param(DOWN + DOWN + ENTER, 1, marks=pytest.mark.long),
    ],
)
def test_leaving_leaves_everything_as_it_was(empty: CourseOnDisk, keys: str, code: int) -> None:
    terminal = Terminal(["init"], empty.root, lines=240)
    terminal.wait_for("Write these 4 files?")
    terminal.keys(keys)
    assert terminal.end() == code
    assert everything(empty.root) == {}


def test_a_person_sees_the_difference_and_chooses(empty: CourseOnDisk) -> None:
    terminal = Terminal(["init"], empty.root, lines=240)
    terminal.wait_for("Write these 4 files?")
    assert "+++ goldsmith.toml" in terminal.screen
    terminal.keys(DOWN + ENTER)
    terminal.wait_for("Which of them?")
    terminal.keys(DOWN + SPACE + ENTER)
    assert terminal.end() == 0
    assert "3 files written, 1 left out." in terminal.screen
    assert set(everything(empty.root)) == WRITTEN - {"pytest.ini"}


@pytest.mark.long
def test_what_changed_while_somebody_was_asked_is_not_overwritten(empty: CourseOnDisk) -> None:
    empty.write({".gitignore": "*.log\n"})
    terminal = Terminal(["init"], empty.root, lines=240)
    terminal.wait_for("Write these 4 files?")
    empty.write({".gitignore": "*.log\n*.tmp\n"})
    terminal.keys(ENTER)
    assert terminal.end() == 3
    assert "changed while you were asked; nothing was written" in terminal.screen.replace("\n", "")
    assert set(everything(empty.root)) == {".gitignore"}
    assert (empty.root / ".gitignore").read_text() == "*.log\n*.tmp\n"


def test_a_copy_of_a_course_is_guarded_itself_and_so_is_a_second_course_in_one_repository(
    empty: CourseOnDisk, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=empty.root, check=True)
    assert empty.run("init", "--yes").code == 0
    copy = CourseOnDisk(tmp_path / "next term")
    shutil.copytree(empty.root, copy.root)
    assert "--course ." in (copy.root / ".git/hooks/pre-commit").read_text()
    inner = CourseOnDisk(empty.root / "inner")
    inner.root.mkdir()
    (inner.root / "goldsmith.toml").write_text("")
    said = inner.run("init", "--yes")
    assert "--course inner" in said.out, "the second one's line is to be added by hand"


def test_an_example_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    run = CourseOnDisk(tmp_path).run("init", "--example", str(tmp_path / "copy"), "--dry-run")
    assert run.code == 2
    assert "it cannot be combined with --dry-run" in run.err
    assert not (tmp_path / "copy").exists()

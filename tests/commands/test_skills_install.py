"""Skills in a course: written once, brought up to date, never at the cost of somebody's edits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from goldsmith.courses.layout.example import copy_example, example_folder
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.skills.bundled import skill_files, skill_names
from goldsmith.courses.skills.install import check_skills
from goldsmith.courses.skills.signature import marked, read_mark
from support.course import COMMAND, CourseOnDisk, numpy_course

ROOT = Path(__file__).parents[2]
SKILL = ".claude/skills/generate-fixtures/SKILL.md"
SHORTCUT = ".claude/commands/generate-fixtures.md"
PLACES = {str(file.place): file.text for file in skill_files()}
OLD = marked("---\nname: generate-fixtures\n---\n\nThe skill of long ago.\n", version="0.0.7")
NOBODYS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"]


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    return numpy_course(tmp_path / "a course with spaces")


def agent_files(course: CourseOnDisk) -> dict[str, bytes]:
    folder = course.root / ".claude"
    return {str(path.relative_to(course.root)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(course: CourseOnDisk, text: str, place: str = SKILL) -> Path:
    path = course.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def outcomes(course: CourseOnDisk, *arguments: str) -> tuple[int, dict[str, str]]:
    run = course.run("skills", "install", *arguments, "--json")
    body = run.json
    assert (body["schema"], body["command"], body["error"]) == (1, "skills install", None)
    assert body["ok"] is (run.code == 0)
    return run.code, {item["name"]: item["outcome"] for item in body["skills"]}


def test_the_three_skills_are_written_with_a_shortcut_each_and_a_second_run_touches_nothing(
    course: CourseOnDisk,
) -> None:
    assert outcomes(course, "--check") == (1, dict.fromkeys(skill_names(), "missing"))
    assert not (course.root / ".claude").exists()
    assert outcomes(course) == (0, dict.fromkeys(["generate-fixtures", "test-rigor", "grade"], "written"))
    written = agent_files(course)
    assert written == {place: text.encode() for place, text in PLACES.items()}
    times = {place: (course.root / place).stat().st_mtime_ns for place in written}
    assert outcomes(course) == (0, dict.fromkeys(skill_names(), "unchanged"))
    assert outcomes(course, "--check") == (0, dict.fromkeys(skill_names(), "current"))
    assert agent_files(course) == written
    assert {place: (course.root / place).stat().st_mtime_ns for place in written} == times


def test_any_folder_of_the_course_will_do_and_no_other(course: CourseOnDisk, tmp_path: Path) -> None:
    run = course.run("skills", "install", str(course.root / "src/assignments"), cwd=tmp_path)
    assert run.code == 0
    assert set(agent_files(course)) == set(PLACES)
    away = tmp_path / "elsewhere"
    away.mkdir()
    run = course.run("skills", "install", str(away), "--json", cwd=tmp_path)
    assert (run.code, run.json["error"]["kind"], run.json["skills"]) == (2, "not-a-course", [])
    assert list(away.iterdir()) == []


def test_an_old_skill_is_reported_and_brought_up_to_date(course: CourseOnDisk) -> None:
    course.run("skills", "install")
    path = put(course, OLD)
    path.chmod(0o640)
    run = course.run("skills", "install", "--check")
    assert run.code == 1
    assert f"{SKILL}  out of date (written by goldsmith 0.0.7)" in run.out
    assert run.last_line == "generate-fixtures is not up to date; run `goldsmith skills install`."
    assert path.read_bytes() == OLD.encode()
    code, found = outcomes(course)
    assert (code, found["generate-fixtures"], found["grade"]) == (0, "updated", "unchanged")
    assert path.read_text() == PLACES[SKILL]
    assert path.stat().st_mode & 0o777 == 0o640


def test_edits_to_the_newest_skill_are_kept_shown_and_no_reason_to_complain(course: CourseOnDisk) -> None:
    edited = PLACES[SKILL].replace("# Generate fixtures\n", "# Generate fixtures\n\nAsk Friday's team first.\n")
    path = put(course, edited)
    run = course.run("skills", "install")
    assert run.code == 0
    assert f"{SKILL}  kept as it is: edited by you, otherwise up to date" in run.out
    assert "-Ask Friday's team first." in run.out
    assert path.read_text() == edited
    assert outcomes(course, "--check") == (
        0,
        {"generate-fixtures": "edited", "test-rigor": "current", "grade": "current"},
    )


@pytest.mark.parametrize(
    ("theirs", "state", "words"),
    [
        (OLD.replace("long ago", "our own"), "edited-outdated", "edited by you, and out of date"),
        ("# The skill we had before\n", "foreign", "not goldsmith's"),
        (OLD + "\nOne more thing.\n", "edited-outdated", "edited by you, and out of date"),
    ],
    ids=["edited", "foreign", "after the mark"],
)
def test_what_somebody_wrote_is_never_overwritten_unless_forced_and_then_kept_beside(
    course: CourseOnDisk, theirs: str, state: str, words: str
) -> None:
    path = put(course, theirs)
    assert outcomes(course, "--check")[1]["generate-fixtures"] == state
    run = course.run("skills", "install")
    assert run.code == 1
    assert f"{SKILL}  kept as it is: {words}" in run.out
    assert f"--- {SKILL} as it is" in run.out
    assert "--force" in run.last_line
    assert path.read_text() == theirs
    assert (course.root / SHORTCUT).is_file()
    run = course.run("skills", "install", "--force")
    assert run.code == 0
    assert f"{SKILL}  replaced; yours is kept as {SKILL}.yours" in run.out
    assert path.read_text() == PLACES[SKILL]
    assert (course.root / f"{SKILL}.yours").read_text() == theirs


def test_every_copy_that_was_kept_stays(course: CourseOnDisk) -> None:
    for text in ("first\n", "second\n", "first\n"):
        put(course, text)
        assert outcomes(course, "--force")[1]["generate-fixtures"] == "replaced"
    kept = {path.name: path.read_text() for path in (course.root / SKILL).parent.iterdir() if path.name != "SKILL.md"}
    assert kept == {"SKILL.md.yours": "first\n", "SKILL.md.yours-2": "second\n"}


def test_line_ends_and_a_byte_order_mark_are_no_edits(course: CourseOnDisk) -> None:
    course.run("skills", "install")
    for place, text in PLACES.items():
        put(course, "\ufeff" + text.replace("\n", "\r\n"), place)
    before = agent_files(course)
    assert outcomes(course) == (0, dict.fromkeys(skill_names(), "unchanged"))
    assert agent_files(course) == before
    path = put(course, OLD.replace("\n", "\r\n"))
    assert outcomes(course)[1]["generate-fixtures"] == "updated"
    assert path.read_bytes() == PLACES[SKILL].replace("\n", "\r\n").encode()


def test_nothing_is_written_through_a_link_that_leaves_the_course(course: CourseOnDisk, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "skills").mkdir(parents=True)
    (course.root / ".claude").symlink_to(shared)
    run = course.run("skills", "install")
    assert run.code == 3
    assert "is reached by a link that points outside the course" in run.err
    assert list(shared.rglob("*")) == [shared / "skills"]


def test_a_link_inside_the_course_stays_one(course: CourseOnDisk) -> None:
    (course.root / ".agents").mkdir()
    (course.root / ".claude").symlink_to(".agents")
    real = put(course, OLD, ".agents/real.md")
    (course.root / SKILL).parent.mkdir(parents=True)
    (course.root / SKILL).symlink_to(real)
    assert outcomes(course)[1] == {"generate-fixtures": "updated", "test-rigor": "written", "grade": "written"}
    assert (course.root / ".claude").is_symlink()
    assert (course.root / SKILL).is_symlink()
    assert real.read_text() == PLACES[SKILL]


def test_a_file_or_a_loop_in_the_way_is_named(course: CourseOnDisk) -> None:
    blocked = course.root / ".claude"
    blocked.write_text("a file\n")
    run = course.run("skills", "install")
    assert (run.code, run.err.count("\n")) == (3, 1)
    assert f"{SKILL} cannot be read (Not a directory)" in run.err
    blocked.unlink()
    blocked.symlink_to(".claude")
    run = course.run("skills", "install", "--json")
    assert (run.code, run.json["error"]["kind"]) == (3, "skill-unreadable")


def test_a_folder_that_must_not_be_written_is_named(course: CourseOnDisk) -> None:
    folder = course.root / ".claude"
    folder.mkdir()
    folder.chmod(0o555)
    try:
        run = course.run("skills", "install", prefix=NOBODYS if os.getuid() == 0 else ["env"])
    finally:
        folder.chmod(0o755)
    assert run.code == 3
    assert "cannot be written (Permission denied)" in run.err
    assert list(folder.iterdir()) == []


def test_one_skill_can_be_chosen_and_the_others_are_let_be(course: CourseOnDisk) -> None:
    put(course, "mine\n")
    other = put(course, "mine, too\n", ".claude/skills/grade/SKILL.md")
    assert outcomes(course, "--only", "generate-fixtures", "--force") == (0, {"generate-fixtures": "replaced"})
    assert other.read_text() == "mine, too\n"
    assert not (course.root / ".claude/skills/test-rigor").exists()
    run = course.run("skills", "install", "--only", "fixtures", "--json")
    assert (run.code, run.json["error"]["kind"]) == (2, "no-such-skill")


def test_check_and_force_exclude_each_other(course: CourseOnDisk) -> None:
    run = course.run("skills", "install", "--check", "--force")
    assert run.code == 2
    assert not (course.root / ".claude").exists()


INTERRUPTED = """
import os, signal, sys
from goldsmith.cli import run

left, replace = int(sys.argv.pop(1)), os.replace

def interrupt_and_replace(*names):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGINT)
    replace(*names)

os.replace = interrupt_and_replace
run()
"""
"""Goldsmith that is interrupted while it puts so many files in their place."""


def test_an_interruption_leaves_whole_files_only(course: CourseOnDisk) -> None:
    for step in (1, 4, 6):
        program = [sys.executable, "-c", INTERRUPTED, str(step), "skills", "install"]
        run = subprocess.run(program, cwd=course.root, capture_output=True, text=True)
        assert (run.returncode, "Traceback" in run.stderr) == (130, False), run.stderr
        for place, content in agent_files(course).items():
            assert content.decode() == PLACES[place]
        shutil.rmtree(course.root / ".claude", ignore_errors=True)
    assert outcomes(course)[0] == 0
    assert set(agent_files(course)) == set(PLACES)


def test_the_mark_says_who_wrote_a_file_and_survives_what_editors_do() -> None:
    text = marked("# A skill\n\nDo this.\n", version="1.2.3")
    mark = read_mark(text)
    assert mark is not None
    assert (mark.version, mark.intact) == ("1.2.3", True)
    for same in (text.rstrip(), text + "\n\n", text.replace("\n", "\r\n"), "\ufeff" + text):
        assert read_mark(same) == mark
    for edited in (text.replace("Do", "Don't do"), text + "more\n", "before\n" + text, text.replace("\n\nDo", "\nDo")):
        found = read_mark(edited)
        assert found is not None
        assert not found.intact
    assert read_mark("# A skill\n\nDo this.\n") is None


def test_the_bundled_course_has_the_newest_skills(tmp_path: Path) -> None:
    assert {item.outcome for item in check_skills(find_course(example_folder()).root)} == {"current"}
    copied = copy_example(tmp_path / "copied")
    assert {item.outcome for item in check_skills(copied.root)} == {"current"}


@pytest.mark.long
def test_the_wheel_holds_the_skills_and_those_of_the_bundled_course(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in skill_names():
        assert f"goldsmith/courses/skills/texts/{name}/SKILL.md" in names
        assert f"goldsmith/_example/.claude/skills/{name}/SKILL.md" in names


def test_the_skill_for_porting_goes_into_any_repository_and_into_no_course_unasked(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repository)], check=True)

    def install(*options: str) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, "skills", "install", *options]
        return subprocess.run(command, cwd=repository / "src", capture_output=True, text=True)

    assert install("--only", "port").returncode == 0
    assert (repository / ".claude/skills/port/SKILL.md").is_file()
    assert (repository / ".claude/commands/port.md").is_file()
    assert install("--only", "port", "--check").returncode == 0
    refused = install()
    assert refused.returncode == 2
    assert "is not inside a course" in refused.stderr

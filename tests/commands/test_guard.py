"""The guard finds solutions wherever they leak, and nothing where they do not."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from corpora.leaks import BACKBONE, CLEAN, LEAKS, STUB, as_bytes
from corpora.packed_leaks import FORMS, SLOW, UNSEEN
from goldsmith.courses.guard.leaks import leaks_in
from goldsmith.courses.guard.nested_files import unpacked
from goldsmith.courses.guard.scan import guarded_by
from goldsmith.courses.layout.layout import find_course
from support.course import CourseOnDisk, copy_of_example

SCRATCH = "src/assignments/scratch-1/backbone.py"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory):
    course = copy_of_example(tmp_path_factory.mktemp("guard") / "course")
    return guarded_by(find_course(course.root), everything_public=False)


@pytest.mark.parametrize("name", LEAKS)
def test_every_leak_of_the_corpus_is_found(guarded, name: str) -> None:
    file, text = LEAKS[name]
    assert list(leaks_in(file, as_bytes(text), guarded))


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_clean_of_the_corpus_is_a_finding(guarded, name: str) -> None:
    file, text = CLEAN[name]
    assert list(leaks_in(file, as_bytes(text), guarded)) == []


def test_the_corpus_is_large_enough() -> None:
    assert len(LEAKS) >= 25
    assert len(CLEAN) >= 25


def test_a_finding_says_where_what_how_much_and_why(example: CourseOnDisk) -> None:
    run = example.run("guard")
    assert run.code == 0, run.out
    assert "Nothing found in this course" in run.last_line
    _, text = LEAKS["variables renamed"]
    example.write({"src/other.py": "import math\n\n\n" + text})
    run = example.run("guard", "--json")
    assert run.code == 1
    (finding,) = run.json["findings"]
    assert finding["name"] == "src/other.py"
    assert (finding["outcome"], finding["kind"]) == ("leak", "solution")
    assert finding["part"] == "backbone.CausalSelfAttention.forward"
    assert finding["first"] == 5
    assert finding["similarity"] > 0.9
    text = example.run("guard").out
    assert "src/other.py:5-" in text
    assert "private/solutions/scratch-1/backbone_solution.py" in text


def test_a_leak_over_the_starter_is_found_even_when_it_was_committed(example: CourseOnDisk) -> None:
    shutil.copy(example.root / "private/solutions/scratch-1/backbone_solution.py", example.root / SCRATCH)
    example.git("commit", "--quiet", "--all", "-m", "oops")
    run = example.run("guard")
    assert run.code == 1
    assert "backbone.RMSNorm.forward" in run.out


def test_a_handout_is_looked_through_as_a_whole(example: CourseOnDisk, tmp_path: Path) -> None:
    handout = tmp_path / "hand out"
    shutil.copytree(example.root, handout, ignore=shutil.ignore_patterns(".git"))
    run = example.run("guard", str(handout))
    assert run.code == 1
    assert "private/ is not for students, but is there (8 files)" in run.out
    assert "tests/internal/ is not for students" in run.out
    shutil.rmtree(handout / "private")
    shutil.rmtree(handout / "tests/internal")
    assert example.run("guard", str(handout)).code == 0
    gold = example.gold("scratch-1") / "attention.pt"
    shutil.copy(gold, handout / "weights.bin")
    run = example.run("guard", str(handout))
    assert "it is tests/internal/fixtures/scratch-1/attention.pt, byte for byte" in run.out
    assert example.run("guard", str(tmp_path / "nowhere")).code == 3


def test_history_is_part_of_what_a_branch_gives_away(example: CourseOnDisk) -> None:
    example.git("checkout", "--quiet", "-b", "release")
    example.git("rm", "-r", "--quiet", "private", "tests/internal")
    example.git("commit", "--quiet", "-m", "for students")
    blind = example.run("guard", "--ref", "release")
    assert blind.code == 3, "without a solution it cannot know what to look for"
    example.git("checkout", "--quiet", "main")
    run = example.run("guard", "--ref", "release")
    assert run.code == 1, "the commit before is still reachable"
    assert "its history still has it" in run.out
    example.git("checkout", "--quiet", "release")
    example.git("checkout", "--quiet", "--orphan", "clean")
    example.git("commit", "--quiet", "-m", "for students")
    example.git("checkout", "--quiet", "main")
    assert example.run("guard", "--ref", "clean").code == 0
    example.git("checkout", "--quiet", "clean")
    example.write({"hint.md": LEAKS["in Markdown"][1]})
    example.git("add", "hint.md")
    example.git("commit", "--quiet", "-m", "hint")
    example.git("rm", "--quiet", "hint.md")
    example.git("commit", "--quiet", "-m", "no hint")
    example.git("checkout", "--quiet", "main")
    run = example.run("guard", "--ref", "clean")
    assert run.code == 1
    assert "hint.md" in run.out
    assert "since commit" in run.out
    assert example.run("guard", "--ref", "nowhere").code == 2
    assert example.run("guard", "--ref", "main", "--staged").code == 2


def test_a_merge_does_not_hide_what_came_with_it(example: CourseOnDisk) -> None:
    tree = example.git("write-tree").strip()
    example.git("rm", "-r", "--quiet", "--cached", "private", "tests/internal")
    clean = example.git("commit-tree", example.git("write-tree").strip(), "-m", "clean").strip()
    example.git("read-tree", tree)
    example.write({"ref.py": LEAKS["one function in a file of helpers"][1]})
    blob = example.git("hash-object", "-w", "ref.py").strip()
    (example.root / "ref.py").unlink()
    side_tree = subprocess.run(
        ["git", "-C", str(example.root), "mktree"],
        input=f"100644 blob {blob}\tref.py\n",
        text=True,
        check=True,
        capture_output=True,
    ).stdout.strip()
    side = example.git("commit-tree", side_tree, "-p", clean, "-m", "side").strip()
    merge = example.git("commit-tree", f"{clean}^{{tree}}", "-p", clean, "-p", side, "-m", "merge -s ours").strip()
    example.git("branch", "pub", merge)
    run = example.run("guard", "--ref", "pub")
    assert run.code == 1
    assert "ref.py" in run.out


def test_archives_and_private_copies_are_looked_into(example: CourseOnDisk, tmp_path: Path) -> None:
    handout = tmp_path / "handout"
    handout.mkdir()
    shutil.make_archive(str(handout / "extra"), "zip", example.root / "private")
    run = example.run("guard", str(handout))
    assert run.code == 1
    assert "extra.zip/solutions/scratch-1/backbone_solution.py" in run.out
    assert example.run("guard", str(handout / "extra.zip")).code == 1
    (handout / "extra.zip").unlink()
    example.write({"private/solutions/scratch-1/query.sql": "select name, grade from students where grade > 4;\n"})
    shutil.copy(example.root / "private/solutions/scratch-1/query.sql", handout / "warmup.sql")
    assert "it is private/solutions/scratch-1/query.sql, byte for byte" in example.run("guard", str(handout)).out


def test_what_it_cannot_know_is_no_all_clear(example: CourseOnDisk, tmp_path: Path) -> None:
    shutil.rmtree(example.root / "private")
    example.git("rm", "-r", "--quiet", "--cached", "private")
    example.git("commit", "--quiet", "-m", "no solutions here")
    run = example.run("guard")
    assert run.code == 3
    assert "the guard does not know what to look for" in run.err
    bare = copy_of_example(tmp_path / "bare")
    shutil.rmtree(bare.root / ".git")
    assert bare.run("guard", "--staged").code == 3
    assert bare.run("guard").code == 0


def test_threshold_and_exceptions_come_from_the_configuration(example: CourseOnDisk) -> None:
    example.write({"src/other.py": LEAKS["variables renamed"][1]})
    toml = (example.root / "goldsmith.toml").read_text()
    example.write({"goldsmith.toml": toml.replace("[guard.allow]", '[guard.allow]\n"src/other.py" = "shown in class"')})
    assert example.run("guard").code == 0
    example.write({"goldsmith.toml": toml.replace("[guard.allow]", '[guard.allow]\n"src/other.py" = " "')})
    assert "needs its reason as text" in example.run("guard").err
    example.write({"goldsmith.toml": "[guard]\nthreshold = 7.0\n"})
    assert "must be more than 0 and at most 1" in example.run("guard").err


# --- the hook and the old door


def test_the_hook_stops_commits_while_injected_and_of_leaks(example: CourseOnDisk) -> None:
    assert example.run("init", "--yes").code == 0
    assert example.run("inject", "scratch-1").code == 0
    example.write({"note.txt": "harmless\n"})
    example.git("add", "note.txt")
    with pytest.raises(subprocess.CalledProcessError):
        example.git("commit", "--quiet", "-m", "while injected")
    assert example.run("reset").code == 0
    example.git("commit", "--quiet", "-m", "harmless")
    example.write({"hint.md": LEAKS["in Markdown"][1]})
    example.git("add", "hint.md")
    with pytest.raises(subprocess.CalledProcessError):
        example.git("commit", "--quiet", "-m", "a leak")
    example.git("reset", "--quiet")
    example.write({"private/solutions/scratch-1/more.py": LEAKS["in Markdown"][1]})
    example.git("add", "private")
    example.git("commit", "--quiet", "-m", "private files are fine here")


def test_a_hook_of_somebody_else_stays_and_the_line_to_add_is_shown(example: CourseOnDisk) -> None:
    hook = example.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    run = example.run("init", "--yes")
    assert run.code == 0
    assert "exists already, and is not as goldsmith would write it: it stays as it is" in run.out
    assert "-m goldsmith guard --staged --course ." in run.out
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def test_the_old_door_leads_to_goldsmith_with_its_exit_codes(tmp_path: Path) -> None:
    example = copy_of_example(tmp_path / "a course")

    def door(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(example.root / "scripts/dev_utils.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert "scratch-2" in door("--list").stdout
    assert door("--verify-clean").returncode == 0
    assert door("--inject", "scratch-1").returncode == 0
    assert "NotImplementedError" not in (example.root / SCRATCH).read_text()
    assert "injected" in door("--list").stdout
    assert door("--verify-clean").returncode == 1
    assert door("--inject", "scratch-9").returncode == 2
    assert door("--reset", "scratch-1").returncode == 0
    assert "NotImplementedError" in (example.root / SCRATCH).read_text()
    assert door().returncode == 2


# --- a solution in other files


def _slow_ones_marked(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", _slow_ones_marked(FORMS))
def test_a_solution_is_found_in_whatever_file_it_lies(guarded, name: str) -> None:
    file, form = FORMS[name]
    inside = list(unpacked(file, form(BACKBONE)))
    assert [item.unseen for item in inside if item.unseen] == []
    found = {finding.part for item in inside for finding in leaks_in(item.path, item.content, guarded)}
    assert "backbone.CausalSelfAttention.forward" in found
    clean = [finding for item in unpacked(file, form(STUB)) for finding in leaks_in(item.path, item.content, guarded)]
    assert [finding for finding in clean if finding.kind == "solution"] == []


@pytest.mark.parametrize("name", _slow_ones_marked(UNSEEN))
def test_what_cannot_be_looked_into_is_named_within_bounds(name: str) -> None:
    file, form, why = UNSEEN[name]
    content = form(BACKBONE)
    began = time.process_time()
    told = {item.path: item.unseen for item in unpacked(file, content) if item.unseen}
    assert any(why in item for item in told.values()), told
    assert all(path.startswith(file) for path in told)
    assert time.process_time() - began < 20


def test_damage_in_a_file_of_any_form_is_no_error_of_ours() -> None:
    chance = random.Random(0)
    for name in sorted(FORMS.keys() - {*SLOW, "text over 2 MiB"}):
        file, form = FORMS[name]
        whole = form(BACKBONE[:2000])
        for _ in range(8):
            damaged = bytearray(whole)
            for _ in range(chance.choice([1, 3, 30])):
                at = chance.randrange(len(damaged))
                damaged[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            cut = bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])])
            assert next(unpacked(file, cut)).content == cut
            assert sum(len(item.content) for item in unpacked(file, cut)) < 2**22


def test_what_could_not_be_looked_into_is_told_and_no_finding(example: CourseOnDisk) -> None:
    for name in ("encrypted zip", "PDF"):
        file, form, _ = UNSEEN[name]
        (example.root / file).write_bytes(form(BACKBONE))
    with (example.root / "large.bin").open("wb") as large:
        large.truncate(51 * 2**20)
    run = example.run("guard")
    assert run.code == 0, run.out
    assert "Not looked into: work.zip/core.py (it is encrypted)" in run.out
    assert "Not looked into: large.bin (it has more than 50 MiB)" in run.out
    assert run.last_line.startswith("Nothing found in this course")
    assert {item["file"]: item["why"] for item in example.run("guard", "--json").json["not_looked_into"]} == {
        "hw1_solutions.pdf": "it is a PDF",
        "large.bin": "it has more than 50 MiB",
        "work.zip/core.py": "it is encrypted",
    }
    example.git("init", "--quiet")
    example.git("add", "--all")
    example.git("commit", "--quiet", "--message", "all")
    told = example.run("guard", "--ref", "HEAD", "--json").json["not_looked_into"]
    assert "large.bin" in [item["file"] for item in told]

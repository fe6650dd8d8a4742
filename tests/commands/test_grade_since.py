"""`grade` after an earlier run: whose points moved, from what to what, by which items, and because of what."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.courses.grade.run_record import encode, read_record
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.sealed_files import seal
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk, Run

SOLUTION = "private/solutions/hw1/ops_solution.py"
FOLDER, CACHE = "private/grades/hw1", ".goldsmith/grades"
OTHER_GOLD = ("x * factor", "x * (factor + 1e-3)")
"""An epsilon in the solution: whoever was right in `scaled` is wrong by the gold that it makes."""
Change = Callable[[CourseOnDisk], None]
RUBRIC = "[assignment.hw1.rubric.cases]\ncentred = 2\nscaled = 1\ncounted = 1\n"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A class of three that has been graded: ada is right, bob is wrong in `scaled`, cy in `centred`."""
    course = checked_course(tmp_path_factory.mktemp("since") / "course")
    hand_in(course, name="ada")
    hand_in(course, OTHER_GOLD, name="bob")
    Path(hand_in(course, ("x - mean_of(x)", "x + mean_of(x)"), name="cy")).parent.rename(course.root / "handed-in")
    assert grade(course).code == 0
    return course


@pytest.fixture
def course(before: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    """A copy of it, for one test to change."""
    shutil.copytree(before.root, tmp_path / "course", symlinks=True)
    return CourseOnDisk(tmp_path / "course")


def grade(course: CourseOnDisk, *options: str) -> Run:
    return course.run("grade", "hw1", "handed-in", *options)


@pytest.fixture(scope="module")
def other_gold(before: CourseOnDisk, tmp_path_factory: pytest.TempPathFactory) -> Change:
    """Changes the solution and the gold of a course; the class has been judged by that before, elsewhere."""
    made = CourseOnDisk(tmp_path_factory.mktemp("other") / "course")
    shutil.copytree(before.root, made.root, symlinks=True)
    edit(made.root / SOLUTION, *OTHER_GOLD)
    assert made.run("generate", "hw1").code == 0
    grade(made, "--dry-run")

    def change(course: CourseOnDisk) -> None:
        shutil.copy2(made.root / SOLUTION, course.root / SOLUTION)
        for folder in ("tests/internal/fixtures", CACHE):
            shutil.copytree(made.root / folder, course.root / folder, dirs_exist_ok=True)

    return change


def other_rubric(course: CourseOnDisk) -> None:
    (course.root / "goldsmith.toml").write_text(RUBRIC)


def other_file(course: CourseOnDisk) -> None:
    """Cy's mistake is put right, in a file that is nobody else's."""
    edit(course.root / "handed-in/cy/ops.py", "x + mean_of(x)", "x - mean_of(x)  # of each row")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def moves(course: CourseOnDisk, *options: str) -> dict[str, Any]:
    """Who moved, from what to what, by which items, and because of what with how many points."""
    found = grade(course, "--json", *options).json
    return {
        item["name"]: (
            item["moved"]["was"],
            item["score"],
            [it["name"] for it in item["moved"]["items"]],
            [("+".join(it["causes"]), it["points"]) for it in item["moved"]["because"]],
        )
        for item in found["submissions"]
        if item["moved"]
    }


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- each change, and all of them -------------------------------------------------------------------------------------


def test_other_gold_moves_who_it_concerns(course: CourseOnDisk, other_gold: Change) -> None:
    other_gold(course)
    assert moves(course) == {
        "ada": (3.0, 2.0, ["scaled"], [("gold", -1.0)]),
        "bob": (2.0, 3.0, ["scaled"], [("gold", 1.0)]),
        "cy": (2.0, 1.0, ["scaled"], [("gold", -1.0)]),
    }


def test_another_rubric_moves_who_earns_what_it_names(course: CourseOnDisk) -> None:
    other_rubric(course)
    run = grade(course, "--json").json
    assert moves(course, "--since", f"{FOLDER}") == {}, "the last run is what it is compared with"
    assert {item["name"]: item["moved"] and item["moved"]["because"] for item in run["submissions"]} == {
        "ada": [{"causes": ["rubric"], "points": 1.0}],
        "bob": [{"causes": ["rubric"], "points": 1.0}],
        "cy": None,
    }
    assert (run["ledger"]["points_were"], run["ledger"]["points"]) == (3.0, 4.0)


def test_another_file_moves_its_author(course: CourseOnDisk) -> None:
    other_file(course)
    assert moves(course) == {"cy": (2.0, 3.0, ["centred"], [("submission", 1.0)])}


def test_of_all_three_each_is_tried_alone(course: CourseOnDisk, other_gold: Change) -> None:
    """What cy's new file earns by the old gold, or the old one by the new gold, nobody has seen: these are together."""
    other_gold(course)
    shutil.rmtree(course.root / CACHE)
    other_rubric(course)
    other_file(course)
    assert moves(course) == {
        "ada": (3.0, 3.0, ["centred", "scaled"], [("gold", -1.0), ("rubric", 1.0)]),
        "bob": (2.0, 4.0, ["centred", "scaled"], [("gold", 1.0), ("rubric", 1.0)]),
        "cy": (2.0, 3.0, ["centred", "scaled"], [("submission+gold", 0.0), ("rubric", 1.0)]),
    }, "ada's points are the same, and what they are made of is not"


@pytest.mark.long
def test_what_was_tried_before_is_told_apart(course: CourseOnDisk, other_gold: Change) -> None:
    shutil.copytree(course.root / FOLDER, course.root / "first")
    other_file(course)
    grade(course)
    other_gold(course)
    assert moves(course, "--since", "first")["cy"] == (
        2.0,
        2.0,
        ["centred", "scaled"],
        [("submission", 1.0), ("gold", -1.0)],
    )


# --- where it is told -------------------------------------------------------------------------------------------------


def test_it_is_told_to_staff_and_to_whom_it_concerns(course: CourseOnDisk, other_gold: Change) -> None:
    other_gold(course)
    run = grade(course, "--html")
    folder = course.root / FOLDER
    assert "Since private/grades/hw1/, 3 of 3 submissions moved; changed: gold." in run.out
    row = next(line for line in run.out.splitlines() if "→" in line)
    assert row.split() == ["ada", "3", "2", "scaled", "1", "→", "0", "gold"]
    with (folder / "grades.csv").open(encoding="utf-8") as file:
        assert [row["moved"] for row in csv.DictReader(file)] == ["3 to 2: gold", "2 to 3: gold", "2 to 1: gold"]
    sentence = "Your points went from 3 to 2 of 3, since the gold changed."
    assert sentence in (folder / "feedback/ada.md").read_text()
    assert sentence in (folder / "feedback/ada.html").read_text()
    assert sentence in json.loads((folder / "gradescope/ada/results.json").read_text())["output"]
    page = (folder / "moved.html").read_text()
    assert [name in page for name in ("ada", "bob", "cy", "scaled", "gold", "feedback/ada.html")] == [True] * 6


def test_a_first_run_and_one_in_which_nothing_changed_say_nothing(before: CourseOnDisk, course: CourseOnDisk) -> None:
    first, own = files(before.root / FOLDER), {RUN_RECORD, ".written"}
    again = grade(course)
    assert "moved" not in again.out
    found = files(course.root / FOLDER)
    assert found.keys() == first.keys()
    assert {name for name in first if found[name] != first[name]} <= own, "what has the course's path in it"
    found = grade(course, "--json", "--output", "elsewhere").json
    assert (found["ledger"], found["dry_run"]) == (None, False)


def test_dry_run_tells_it_and_writes_nothing(course: CourseOnDisk, other_gold: Change) -> None:
    first = files(course.root / FOLDER)
    other_gold(course)
    run = grade(course, "--dry-run")
    assert "Since private/grades/hw1/, 3 of 3 submissions moved; changed: gold." in run.out
    assert run.last_line == "Nothing was written (--dry-run)."
    assert files(course.root / FOLDER) == first
    elsewhere = grade(course, "--dry-run", "--output", "elsewhere")
    assert "there is no earlier run in elsewhere/ to compare with" in elsewhere.last_line
    kept = grade(course, "--dry-run", "--never-lower", "--output", "elsewhere")
    assert "--never-lower keeps nothing: there is no earlier run in elsewhere/" in " ".join(kept.err.split())
    assert not (course.root / "elsewhere").exists()
    for more in (["--html"], ["--format", "csv=grades.csv"], ["--format", "canvas"]):
        assert grade(course, "--dry-run", *more).code == 2


def test_never_lower_keeps_the_better_points_for_good_and_says_so(course: CourseOnDisk, other_gold: Change) -> None:
    other_gold(course)
    folder = course.root / FOLDER
    for _ in range(2):
        found = grade(course, "--never-lower", "--json").json
        assert {item["name"]: item["score"] for item in found["submissions"]} == {"ada": 3.0, "bob": 3.0, "cy": 2.0}
        assert found["ledger"]["kept"] == ["ada", "cy"]
        kept = (folder / "feedback/ada.md").read_text()
        assert "You keep 3 points of an earlier run: this one gives 2, since the gold changed." in kept
        with (folder / "grades.csv").open(encoding="utf-8") as file:
            assert next(csv.DictReader(file))["moved"].startswith("3 kept, not 2")
        entry = read_record(folder).entries[0]
        assert entry.moved is not None
        assert (entry.moved.was, entry.moved.now, entry.moved.score) == (3.0, 2.0, 3.0), "the record has both"
    assert moves(course)["ada"] == (3.0, 2.0, [], [("kept", -1.0)])
    assert grade(course, "--never-lower", "--format", "autolab").code == 2


# --- who is compared with whom ----------------------------------------------------------------------------------------


def test_who_joined_left_or_has_another_name_is_told(course: CourseOnDisk) -> None:
    handed_in = course.root / "handed-in"
    (handed_in / "bob").rename(handed_in / "robert")
    (handed_in / "cy").rename(handed_in / "dee")
    edit(handed_in / "dee/ops.py", "x + mean_of(x)", "x - mean_of(x) + 1")
    other_rubric(course)
    found = grade(course, "--json").json["ledger"]
    assert (found["joined"], found["left"], found["renamed"]) == (["dee"], ["cy"], [["robert", "bob"]])
    assert (found["compared"], found["moved"]) == (2, ["ada", "robert"])
    shutil.rmtree(course.root / FOLDER)
    grade(course)
    (handed_in / "robert").rename(handed_in / "bob")
    assert "Under another name, by the same files: bob (was robert)." in grade(course).out


def test_what_is_no_earlier_run_is_refused_or_told(course: CourseOnDisk) -> None:
    folder = course.root / FOLDER
    sealed = folder / RUN_RECORD
    good = sealed.read_bytes()
    (course.root / "empty").mkdir()
    for name, content, why in (
        ("newer", seal("run record", 99, b"later"), "version 99"),
        ("damaged", good[:-7], "cut off"),
        ("other", good.replace(b"run record", b"shopping l"), "not a run record"),
    ):
        (course.root / name).mkdir()
        (course.root / name / RUN_RECORD).write_bytes(content)
        run = grade(course, "--since", name)
        assert (run.code, why in run.err) == (2, True), run.err
    assert "there is no run.record in it" in grade(course, "--since", "empty").err
    (course.root / "empty/.written").touch()
    assert "a run was interrupted there" in grade(course, "--since", "empty").err
    assert files(folder)[RUN_RECORD] == good, "nothing was written"
    sealed.write_bytes(good[:-7])
    assert grade(course, "--never-lower").code == 2, "nobody knows what is lower"
    sealed.unlink()
    assert "an older goldsmith made it" in grade(course, "--never-lower").err
    sealed.write_bytes(good[:-7])
    run = grade(course, "--json")
    assert (run.code, run.json["ledger"]) == (0, None)
    assert "nobody is told whose points moved" in run.err


def test_a_run_of_another_assignment_is_no_earlier_run(course: CourseOnDisk) -> None:
    other = read_record(course.root / FOLDER)
    (course.root / "other").mkdir()
    (course.root / "other" / RUN_RECORD).write_bytes(encode(msgspec.structs.replace(other, assignment="hw2")))
    assert "it is a run of hw2" in grade(course, "--since", "other").err


def test_an_interrupted_run_leaves_the_last_that_came_to_its_end_to_compare_with(
    course: CourseOnDisk, other_gold: Change
) -> None:
    other_gold(course)
    (course.root / FOLDER / "feedback/ada.md").write_text("half a run")
    assert moves(course)["ada"] == (3.0, 2.0, ["scaled"], [("gold", -1.0)])


def test_diff_says_how_many_points_gold_that_was_changed_has_moved(course: CourseOnDisk, other_gold: Change) -> None:
    for arguments in (["init", "-q"], ["add", "-A", "-f", "."], ["commit", "-qm", "gold"]):
        course.git(*arguments)
    other_gold(course)
    shutil.rmtree(course.root / CACHE)
    assert course.run("diff", "hw1", "HEAD").last_line == "hw1: 1 tensor changed since HEAD."
    grade(course, "--dry-run")
    run = course.run("diff", "hw1", "HEAD")
    assert run.last_line == "hw1: 1 tensor changed since HEAD, and 3 of 3 submissions change their points."
    assert course.run("diff", "hw1", "HEAD", "--json").json["assignments"][0]["points"] == (
        {"changed": 3, "known": 3, "submissions": 3}
    )


@pytest.mark.long
def test_diff_says_how_many_points_gold_that_was_seen_before_would_move(course: CourseOnDisk) -> None:
    for arguments in (["init", "-q"], ["add", "-A", "-f", "."], ["commit", "-qm", "gold"]):
        course.git(*arguments)
    edit(course.root / SOLUTION, *OTHER_GOLD)
    assert course.run("generate", "hw1").code == 0
    grade(course, "--dry-run")
    course.git("checkout", "--", "tests")
    assert course.run("diff", "hw1").last_line == (
        "hw1: 1 tensor changed by regenerating, and 3 of 3 submissions would change their points."
    )

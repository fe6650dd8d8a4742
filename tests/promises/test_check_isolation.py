"""What a submission under `goldsmith check` can see, and what of its leavings is believed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.layout.layout import find_course
from goldsmith.foundation.ignored_names import GRADES, GRADES_MARK
from goldsmith.generate.options import Options
from goldsmith.gold.load import load_gold
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.result_log import write_run
from goldsmith.runs.run import Run
from support.check_course import check, checked_course, hand_in, judge, outcomes
from support.course import CourseOnDisk


def test_a_submission_sees_neither_gold_nor_solutions_nor_internal_tests(checked: CourseOnDisk) -> None:
    spying = """
    import pathlib
    seen = [str(path) for path in pathlib.Path.cwd().parents[2].rglob("*")]
    hidden = [path for path in seen if "fixtures/" in path or "private/" in path or "tests/internal" in path]
    given = [path for path in pathlib.Path.cwd().parents[3].rglob("given/*.npz")]
    keys = {key.split("/")[0] for path in given for key in np.load(path).files}
    if hidden or not given or keys - {"input", "state_dict", "structure"}:
        raise RuntimeError(f"I can see {hidden[:3]} {keys}")
    return x * factor"""
    assert check(checked, hand_in(checked, ("return x * factor", spying))).code == 0


def test_a_submission_sees_neither_other_submissions_nor_anybody_s_grades(tmp_path: Path) -> None:
    spying = """
    import pathlib
    seen = [str(path) for path in pathlib.Path.cwd().parents[2].rglob("*")]
    hidden = [path for path in seen if "others" in path or "grades" in path]
    if hidden or not any(path.endswith("data/table.csv") for path in seen):
        raise RuntimeError(f"I can see {hidden[:3]} of {len(seen)}")
    return x * factor"""
    course = checked_course(tmp_path / "course")
    spy = Path(hand_in(course, ("return x * factor", spying)), "ops.py").read_text()
    course.write(
        {
            "others/ada/ops.py": spy,
            "others/ben.zip": "what ben handed in",
            "private/grades/hw1/grades.csv": "ada,1",
            "data/table.csv": "1,2",
            "goldsmith.toml": 'shared = ["data"]',
        }
    )
    assert check(course, "others/ada").code == 0
    graded = course.run("grade", "hw1", "others/ada", "--output", "earlier grades")
    assert graded.code == 0, graded.out
    assert course.run("grade", "hw1", "others/ada", "--output", "earlier grades", "--again").code == 0
    left = {path.name for path in (course.root / "earlier grades").iterdir()}
    assert GRADES_MARK in left
    assert left <= GRADES | {".gitignore"}, "what grading writes and no workspace may hold is known by name"


def test_a_verdict_in_which_a_process_was_killed_is_not_kept(checked: CourseOnDisk, tmp_path: Path) -> None:
    """The machine may have done that; what a submission did itself is found out again."""
    dying = "return __import__('os').kill(__import__('os').getpid(), 9) or x * factor"
    folder = hand_in(checked, ("return x * factor", dying))
    kept = checked.root / ".goldsmith/grades/hw1"
    before = sorted(kept.glob("*")) if kept.is_dir() else []
    assert checked.run("grade", "hw1", folder, "--output", str(tmp_path / "grades")).code == 1
    assert (sorted(kept.glob("*")) if kept.is_dir() else []) == before


def test_a_submission_cannot_bring_its_own_recipe(checked: CourseOnDisk) -> None:
    easy = "import goldsmith as gs\n\n@gs.case\ndef scaled(case):\n    case.record('y', 1.0)\n"
    folder = hand_in(checked, ("return x * factor", "return x"), generate_fixtures=easy)
    assert check(checked, folder).code == 1


def test_a_pipe_in_place_of_a_result_is_not_waited_for(checked: CourseOnDisk, warm: ForkClient) -> None:
    blocked = """
    import os, pathlib
    for path in pathlib.Path.cwd().parents[3].rglob("[0-9]*-????????"):
        if path.is_dir() and not path.name.endswith(".asks"):
            (path / "out" / "1").unlink(missing_ok=True)
            os.mkfifo(path / "out" / "1")
    os._exit(0)"""
    found = judge(checked, hand_in(checked, ("return x * factor", blocked)), warm)
    assert outcomes(found) == {"centred": "could-not-run", "scaled": "could-not-run", "counted": "agrees"}


def test_a_link_to_the_right_answer_is_no_answer(checked: CourseOnDisk, tmp_path: Path, warm: ForkClient) -> None:
    reference = tmp_path / "answer"
    right = {"output": load_gold(checked.gold())["scaled"].output}
    for run in ("plain", "repeat", "float64", "traced"):
        write_run(reference, "scaled", run, Run(values=right))
    left = """
    import os, pathlib, shutil
    for path in pathlib.Path.cwd().parents[3].rglob("[0-9]*-????????"):
        if path.is_dir() and not path.name.endswith(".asks"):
            for number in ("1", "2"):
                (path / "out" / number).unlink(missing_ok=True)
                LEAVE
    os._exit(0)"""
    copied = left.replace("LEAVE", f"shutil.copy({str(reference)!r}, path / 'out' / number)")
    linked = left.replace("LEAVE", f"os.symlink({str(reference)!r}, path / 'out' / number)")
    found = judge(checked, hand_in(checked, ("return x * factor", linked)), warm)
    assert found.case("scaled").outcome != "agrees"
    found = judge(checked, hand_in(checked, ("return x * factor", copied)), warm)
    assert found.case("scaled").outcome == "agrees"  # so that it was the link that was refused above


def test_another_formula_in_float64_has_room(tmp_path: Path, warm: ForkClient) -> None:
    course = checked_course(tmp_path / "course", calibrate=True)
    other = "shifted = x + 1e3\nreturn shifted - shifted.mean(axis=-1, keepdims=True)"
    found = judge(course, hand_in(course, ("return x - mean_of(x)", other)), warm)
    assert found.case("centred").outcome == "agrees"
    wrong = other.replace("keepdims=True)", "keepdims=True) * (1 + 1e-9)")
    found = judge(course, hand_in(course, ("return x - mean_of(x)", wrong)), warm)
    assert found.case("centred").outcome == "differs"


def test_what_a_submission_s_process_leaves_behind_is_not_believed_unread(
    checked: CourseOnDisk, warm: ForkClient
) -> None:
    forged = """
    import os, pathlib
    for path in pathlib.Path.cwd().parents[3].rglob("[0-9]*-????????"):
        if path.is_dir() and not path.name.endswith(".asks"):
            (path / "out" / "1").open("a").write('{"plain": 3\\n')
            (path / "events.jsonl").open("a").write("what?\\n")
    os._exit(0)"""
    found = judge(checked, hand_in(checked, ("return x * factor", forged)), warm)
    assert outcomes(found) == {"centred": "agrees", "scaled": "could-not-run", "counted": "agrees"}


def test_what_staff_import_from_is_hidden_unless_it_is_named(
    checked: CourseOnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with `--fresh`, where work is judged in a copy of the course: the course itself must be hidden, too."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "staff_tools").mkdir()
    (tmp_path / "staff_tools/__init__.py").write_text("")
    assignment = find_course(checked.root).assignment("hw1")
    made = Grader(assignment, rubric_for(assignment, allow_stale=False), Options(seed=42, threads=1, timeout=60), 20, 6)
    assert not [path for path in made.sandbox.reach.readable if path.startswith(str(tmp_path))]
    checked.write({"goldsmith.toml": 'packages = ["staff_tools"]'})
    named = dataclasses.replace(made, assignment=find_course(checked.root).assignment("hw1"))
    reach = named.sandbox.reach
    assert [path for path in reach.readable if path.startswith(str(tmp_path))] == [str(tmp_path / "staff_tools")]
    assert reach.packages == {"staff_tools": str(tmp_path / "staff_tools")}

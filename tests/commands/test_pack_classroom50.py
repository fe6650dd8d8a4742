"""The autograder folder for Classroom 50: public, so without gold; its results have the form that is read there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from corpora.known_submissions import known
from goldsmith.courses.grade.classroom50 import classroom50_json, facts_from, points_scale
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.guard.public_files import public_in
from goldsmith.courses.guard.scan import Sweep, guarded_by, sweep
from goldsmith.courses.layout.config import ItemConfig
from goldsmith.courses.layout.layout import find_course
from support.check_course import SOLUTION, sketched_course
from support.course import CourseOnDisk, copy_of_example, edited
from support.made_verdicts import case, rubric, verdict

ENVIRONMENT = {
    "CLASSROOM": "fall",
    "ASSIGNMENT": "hw1",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-11-17T10-00-00Z-a1b2c3d",
    "COMMIT_URL": "https://host/ada/commit/1",
    "RELEASE_URL": "https://host/ada/releases/1",
}
WRONG = ("x - mean_of(x)", "x + mean_of(x)")
RAISES = ("return x * factor", "raise ValueError('not today')")


def problems_with(result: dict[str, Any]) -> list[str]:
    """What Classroom 50's own schema, `classroom50/result/v1`, would say."""
    texts = ("classroom", "assignment", "assignment_type", "owner", "submission", "commit", "release", "review")
    found = [name for name in texts if not isinstance(result[name], str) or not result[name]]
    found += sorted(set(result) - {*texts, "schema", "datetime", "score", "max-score", "tests"})
    found += [] if result["schema"] == "classroom50/result/v1" else ["schema"]
    found += [] if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result["datetime"]) else ["datetime"]
    found += [] if result["assignment_type"] in ("individual", "group") else ["assignment_type"]
    for item in (result, *result["tests"]):
        both = (item["score"], item["max-score"])
        if any(type(points) is not int for points in both) or not 0 <= both[0] <= both[1]:
            found.append(f"points {both}")
    return found + [test["test-name"] for test in result["tests"] if type(test["passed"]) is not bool]


# --- the form -------------------------------------------------------------------------------------------------------


def test_points_are_whole_numbers_that_never_exceed_what_they_may_be() -> None:
    facts = facts_from(ENVIRONMENT, "2026-11-17T10:00:00Z")
    judged = verdict(case("norm"), case("loss", "differs", right=1), case("whole", "could-not-run"))
    whole = rubric(cases={"norm": 2, "loss": 1, "whole": 4})
    shares = rubric(cases={"norm": 2.5, "loss": ItemConfig(points=1, partial=True)})
    for items, scale, score in ((whole, 1, 2), (shares, 100, 283)):
        assert points_scale(items, 0.0) == scale
        result = json.loads(classroom50_json(grade(judged, items), facts, scale))
        assert problems_with(result) == []
        assert result["score"] == score
    assert [test["passed"] for test in result["tests"]] == [True, False]
    assert points_scale(whole, 0.5) == 100


# --- the folder -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return sketched_course(tmp_path_factory.mktemp("classroom") / "course")


@pytest.fixture(scope="module")
def bundle(course: CourseOnDisk) -> Path:
    run = course.run("pack", "classroom50", "hw1", "--json")
    assert run.code == 0, run.err
    (item,) = run.json["assignments"]
    assert (item["place"], item["left_out"]) == ("classroom50", ["summed", "counted"])
    return course.root / "classroom50/hw1"


def checkout(folder: Path, *changes: tuple[str, str]) -> Path:
    """A student's repository."""
    folder.mkdir()
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    return folder


def run_autograder(bundle: Path, where: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(bundle / "autograder.py")]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | ENVIRONMENT | env
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=200)


def points(result: dict[str, Any]) -> dict[str, Any]:
    return {test["test-name"]: (test["passed"], test["score"], test["max-score"]) for test in result["tests"]}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param((), id="right", marks=pytest.mark.long),  # alone, and quickly: the next test
        pytest.param((WRONG,), id="wrong", marks=pytest.mark.long),
        pytest.param((RAISES,), id="raises", marks=pytest.mark.long),
        pytest.param((WRONG, RAISES), id="both"),
    ],
)
def test_what_a_kit_shows_is_scored_as_goldsmith_grade_scores_it(
    course: CourseOnDisk, bundle: Path, tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    where = checkout(tmp_path / "hw1-ada", *changes)
    done = run_autograder(bundle, where)
    assert done.returncode == 0, done.stderr
    result = json.loads((where / "result.json").read_bytes())
    assert problems_with(result) == []
    graded = course.run("grade", "hw1", str(where), "--output", str(tmp_path / "out"))
    assert graded.code in (0, 1), graded.err
    by_gold = json.loads((tmp_path / "out/gradescope/hw1-ada/results.json").read_bytes())["tests"]
    expected = {
        test["name"]: (test["status"] == "passed", int(test["score"]), int(test["max_score"])) for test in by_gold
    }
    found = points(result)
    assert {name for name, item in found.items() if not item[2]} <= {"case summed", "case summed (not judged)"}
    paid = {name: item for name, item in found.items() if item[2]}
    assert len(paid) == 2
    assert paid == {name: expected[name] for name in paid}
    body = (where / "release-body.md").read_text()
    assert "No points here are for: summed, counted. The course's own run, with the answers, has the last word." in body


def test_what_sketches_do_not_show_whole_is_tried_for_no_points(bundle: Path, tmp_path: Path) -> None:
    """The sum is a single number, which no sketch shows: it may be wrong, so nobody earns a point for it."""
    where = checkout(tmp_path / "hw1-ada")
    done = run_autograder(bundle, where)
    assert done.returncode == 0, done.stderr
    found = points(json.loads((where / "result.json").read_bytes()))
    assert found == {"case centred": (True, 1, 1), "case scaled": (True, 1, 1), "case summed": (True, 0, 0)}


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.timeout(900)
def test_a_transformer_is_scored_as_by_gold(tmp_path: Path) -> None:
    course = copy_of_example(tmp_path / "course")
    assert course.run("pack", "classroom50", "scratch-1").code == 0
    names = ("plain-einsum", "renamed", "attention-unscaled", "exits-in-forward", "loss-summed")
    solutions = course.root / "private/solutions"
    written = [item.written(tmp_path, solutions) for item in known("scratch-1") if item.name in names]
    assert course.run("grade", "scratch-1", *map(str, written), "--output", str(tmp_path / "out")).code == 1
    for where in written:
        assert run_autograder(course.root / "classroom50/scratch-1", where).returncode == 0
        found = points(json.loads((where / "result.json").read_bytes()))
        by_gold = json.loads((tmp_path / f"out/gradescope/{where.name}/results.json").read_bytes())["tests"]
        expected = {test["name"]: (test["status"] == "passed", int(test["score"]), 1) for test in by_gold}
        paid = {name: item for name, item in found.items() if item[2]}
        assert len(paid) == 10
        assert paid == {name: expected[name] for name in paid}, where.name


@pytest.mark.long
def test_where_goldsmith_is_missing_it_is_installed_from_the_bundle(bundle: Path, tmp_path: Path) -> None:
    """With the real pip and the real wheel; there is no network, so listed packages are found where they are."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "python")], check=True)
    where = checkout(tmp_path / "hw1-ada", WRONG)
    site = str(Path(pytest.__file__).parents[1])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": site, "PIP_NO_INDEX": "1", "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        [str(tmp_path / "python/bin/python"), str(bundle / "autograder.py")],
        cwd=where,
        env=environment | ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.glob("goldsmith-venv/lib/python*/site-packages/goldsmith"))
    assert points(json.loads((where / "result.json").read_bytes()))["case centred"] == (False, 0, 1)


def test_nothing_of_gold_or_solutions_is_in_the_folder(course: CourseOnDisk, bundle: Path, tmp_path: Path) -> None:
    found = find_course(course.root)
    assert sweep(found, public_in(bundle), guarded_by(found, everything_public=True)) == Sweep([], [])
    gold = {path.read_bytes() for path in course.gold().iterdir() if path.is_file()}
    assert not [path for path in bundle.rglob("*") if path.is_file() and path.read_bytes() in gold]


def test_a_checkout_without_the_files_is_not_judged(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_autograder(bundle, tmp_path / "empty")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "empty/result.json").read_bytes())
    assert (problems_with(result), result["score"]) == ([], 0)
    assert all("(not judged)" in name for name in points(result))


def test_where_grading_fails_there_is_no_result(bundle: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bundle"
    shutil.copytree(bundle, broken)
    (broken / "kit/kit.npz").write_bytes(b"not data")
    where = checkout(tmp_path / "hw1-ada")
    assert run_autograder(broken, where).returncode
    assert not (where / "result.json").exists()


def test_with_gold_at_hand_every_item_is_scored(course: CourseOnDisk, bundle: Path, tmp_path: Path) -> None:
    assert course.run("pack", "gradescope", "hw1").code == 0
    with zipfile.ZipFile(course.root / "private/packs/hw1-gradescope.zip") as archive:
        archive.extractall(tmp_path / "gold")
    where = checkout(tmp_path / "hw1-ada", WRONG)
    done = run_autograder(bundle, where, GOLDSMITH_GOLD=str(tmp_path / "gold"))
    assert done.returncode == 0, done.stderr
    result = json.loads((where / "result.json").read_bytes())
    assert problems_with(result) == []
    assert {name: item[1] for name, item in points(result).items()} == {
        "case centred": 0,
        "case scaled": 1,
        "case summed": 1,
        "case counted": 1,
    }
    assert "sketches" not in (where / "release-body.md").read_text()

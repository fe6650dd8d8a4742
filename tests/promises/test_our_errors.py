"""What goes wrong in goldsmith itself is told as such: it is nobody's verdict and nobody's score. Nor is what a machine
lacks today kept for tomorrow."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from goldsmith.cli.app import app
from goldsmith.comparison.against_gold import compare_case
from goldsmith.comparison.leaves import NotComparable
from goldsmith.courses.grade import grader
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.junit import junit_xml
from goldsmith.courses.layout.example import example_folder
from goldsmith.errors.recipe import NeverReady
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import load_gold
from goldsmith.process.fork_client import ForkClient
from support.check_course import checked_course, hand_in, judge, outcomes
from support.course import CourseOnDisk
from support.made_verdicts import case, failed, leaf, rubric, verdict

judge_module = importlib.import_module("goldsmith.judge.case")
class_results = importlib.import_module("goldsmith.courses.grade.class_results")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("errors") / "course")


def run(course: CourseOnDisk, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """In this process, where faults can be put into goldsmith."""
    made = CliRunner().invoke(app, [arguments[0], "hw1", *arguments[1:], "--course", str(course.root), "--json"])
    return made.exit_code, json.loads(made.stdout), made.stdout


def failing(times: int, error: Exception, work: Callable[..., Any]) -> Callable[..., Any]:
    left = [times]

    def fault(*args: Any, **kwargs: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error
        return work(*args, **kwargs)

    return fault


def test_an_error_of_ours_is_no_verdict_and_no_score(course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = hand_in(course, name="ada"), hand_in(course, ("x * factor", "x - factor"), name="bob")
    real = grader.replay

    def fault(assignment: Any, submission: Any, request: Any) -> Any:
        if submission.name == "ada":
            raise SystemError("AST constructor recursion depth mismatch (before=183, after=203)")
        return real(assignment, submission, request)

    monkeypatch.setattr(grader, "replay", fault)
    code, report, _ = run(course, "grade", ada, bob)
    assert code == 3
    first, second = report["submissions"]
    assert (first["outcome"], second["outcome"]) == ("error", "differs")
    assert first["reason"].startswith(
        "not judged in 3 of 3 cases, by no fault of its author: goldsmith could not judge"
    )
    assert {item["outcome"] for item in first["items"]} == {"error"}
    assert first["review"] == [item["name"] for item in first["items"]]
    assert all(item["why"].startswith("points withheld: goldsmith could not judge this") for item in first["items"])
    assert report["overview"]["outcomes"] == {"differs": 1, "error": 1}
    folder = course.root / "private/grades/hw1"
    (row, _) = csv.DictReader((folder / "grades.csv").open())
    assert (row["outcome"], row["review"]) == ("error", row["not_judged"])
    feedback = (folder / "feedback/ada.md").read_text()
    assert "None: the grading program itself failed" in feedback
    assert '"error"' in (folder / "gradescope/ada/results.json").read_text()
    assert "error" in (folder / "overview.md").read_text()

    monkeypatch.setattr(grader, "replay", real)
    code, report, _ = run(course, "grade", ada)
    assert (code, report["submissions"][0]["outcome"]) == (0, "agrees"), "nothing of it was kept"


@pytest.mark.parametrize(("times", "outcome"), [(1, "agrees"), (99, "error")])
def test_a_device_that_is_not_ready_is_tried_again_and_is_nobodys_failure(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch, times: int, outcome: str
) -> None:
    fay = hand_in(course, ("x * factor", f"{times} * x * factor / {times}"), name="fay")
    never = NeverReady("cuda", "took longer than 120 s")
    for name in ("check", "replay"):  # by which of them depends on how many there are
        monkeypatch.setattr(grader, name, failing(times, never, getattr(grader, name)))
    code, report, _ = run(course, "grade", fay)
    (found,) = report["submissions"]
    assert (code, found["outcome"]) == (0 if outcome == "agrees" else 3, outcome)
    assert outcome == "agrees" or "this machine was not ready to run anything on cuda" in found["reason"]


def test_an_error_of_ours_in_the_second_round_is_no_verdict_either(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, dan = hand_in(course, name="ada"), hand_in(course, ("x * factor", "x / factor"), name="dan")
    monkeypatch.setattr(grader, "conclude", failing(2, SystemError("no"), grader.conclude))
    code, report, _ = run(course, "grade", ada, dan)
    assert (code, [item["outcome"] for item in report["submissions"]]) == (3, ["agrees", "error"])
    code, report, _ = run(course, "grade", ada, dan)
    assert (code, [item["outcome"] for item in report["submissions"]]) == (0, ["agrees", "differs"])


def test_an_error_in_telling_one_grade_does_not_cost_the_others(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = hand_in(course, name="ada"), hand_in(course, ("x * factor", "x - factor"), name="bob")
    monkeypatch.setattr(class_results, "grade", failing(1, ValueError("a bool, not a number"), class_results.grade))
    code, report, _ = run(course, "grade", ada, bob)
    assert (code, sorted(item["outcome"] for item in report["submissions"])[1:]) == (3, ["error"])


def test_it_is_tried_once_more(course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    cy = hand_in(course, ("x * factor", "factor * x"), name="cy")
    monkeypatch.setattr(grader, "check", failing(1, SystemError("once"), grader.check))
    code, report, _ = run(course, "grade", cy)
    assert (code, report["submissions"][0]["outcome"]) == (0, "agrees")


def test_a_full_disk_is_no_fault_of_whom_it_meets(course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    from goldsmith.errors.gold import CannotWrite

    full = CannotWrite(Path("/tmp/x"), "No space left on device")
    dee = hand_in(course, ("x * factor", "x  * factor"), name="dee")
    monkeypatch.setattr(grader, "opened", failing(2, full, grader.opened))
    assert run(course, "grade", dee)[1]["submissions"][0]["outcome"] == "error"
    monkeypatch.setattr(grader, "check", failing(2, full, grader.check))
    assert run(course, "grade", dee)[1]["submissions"][0]["outcome"] == "error"


def test_check_says_so_too(course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch, warm: ForkClient) -> None:
    ada = hand_in(course, name="ada")
    real = judge_module.judge_case

    def fault(criteria: Any, *args: Any, **kwargs: Any) -> Any:
        if criteria.gold.name == "scaled":
            raise AssertionError("never")
        return real(criteria, *args, **kwargs)

    monkeypatch.setattr(judge_module, "judge_case", fault)
    found = judge(course, ada, warm)
    assert (found.outcome, found.exit_code) == ("error", 3)
    assert outcomes(found) == {"centred": "agrees", "scaled": "error", "counted": "agrees"}
    from goldsmith.courses.grade.verdict_markdown import verdict_markdown
    from goldsmith.render.verdict import verdict_text

    assert "goldsmith could not judge this: AssertionError('never')" in verdict_text(found)
    assert "| scaled | error |" in verdict_markdown(found, verbose=True)


def test_what_cannot_be_compared_is_told_as_that_and_is_no_pass(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch, warm: ForkClient
) -> None:
    odd = NotComparable("output", "a thing", "return an array")
    monkeypatch.setattr(judge_module, "judge_case", failing(100, odd, judge_module.judge_case))
    found = judge(course, hand_in(course, name="ada"), warm)
    assert set(outcomes(found).values()) == {"could-not-run"}
    assert found.cases[0].reason.startswith("what it returned cannot be compared: output is a thing")


def test_an_error_is_an_error_in_junit() -> None:
    from goldsmith.courses.grade.grades import grade

    made = grade(verdict(case("whole", "error", reason="goldsmith could not judge this"), case("norm")), rubric())
    text = junit_xml("hw1", [made])
    assert 'type="error"' in text
    assert "failure type" not in text


# --- what is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["package", "device", "timeout", "killed", "memory", "exit"])
def test_what_a_machine_may_have_done_is_not_kept(kind: str) -> None:
    assert not grader._follows_from_content(verdict(case("whole"), case("norm", "could-not-run", **failed(kind, "no"))))


@pytest.mark.parametrize("kind", ["raised", "stub", "import", "call", "none", "weights"])
def test_what_follows_from_content_is_kept(kind: str) -> None:
    assert grader._follows_from_content(verdict(case("whole"), case("norm", "could-not-run", **failed(kind, "no"))))


def test_a_package_that_is_missing_is_told_to_staff_once_and_is_not_blamed_on_students(
    course: CourseOnDisk,
) -> None:
    def kept() -> set[Path]:
        return set((course.root / ".goldsmith/grades/hw1").glob("*"))

    before = kept()
    imports = ("import numpy as np", "import numpy as np\nimport not_here_yet.tools")
    gil, hal = hand_in(course, imports, name="gil"), hand_in(course, imports, ("x * factor", "x"), name="hal")
    late = hand_in(course, ("return x * factor", "import not_here_either\nreturn x * factor"), name="ida")
    report = json.loads(course.run("grade", "hw1", gil, hal, late, "--json").out)
    first, _, third = report["submissions"]
    assert (first["outcome"], first["cause"], first["packages"]) == ("could-not-run", "package", ["not_here_yet"])
    assert third["packages"] == ["not_here_either"]
    (note,) = [item for item in report["overview"]["notes"] if "not installed here" in item]
    assert "not_here_yet (2), not_here_either (1)" in note
    assert "stand-ins" in note
    feedback = (course.root / "private/grades/hw1/feedback/gil.md").read_text()
    assert "that is not your fault" in feedback
    assert "stand-ins" not in feedback
    assert kept() == before, "once it is installed, it is to run"


@pytest.mark.parametrize(
    "line",
    [
        'torch.zeros(2, device="mps")',
        'torch.zeros(2).to("mps")',
        'torch.zeros(2, device="cuda")',
        "torch.mps.empty_cache()",
    ],
)
def test_a_device_that_is_not_here_is_a_device(line: str, tmp_path: Path) -> None:
    import torch

    from goldsmith.runs.run import Frame
    from goldsmith.worker.failure_reasons import _kind_of

    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("it is here")
    with pytest.raises(Exception) as caught:  # noqa: PT011
        eval(line, {"torch": torch})
    frames = (Frame(str(tmp_path / "x.py"), 1, "f", line),)
    job: Any = SimpleNamespace(device="cpu", folder=str(tmp_path), root=str(tmp_path), recipe="")
    assert _kind_of(caught.value, job, frames, None)[0] == "device"


@pytest.mark.parametrize(
    ("device", "text", "kind"),
    [
        ("cuda", "CUDA error: an illegal memory access was encountered", "raised"),
        ("cuda:0", "CUDA error: device-side assert triggered", "raised"),
        ("cuda", "CUDA out of memory. Tried to allocate 80 GiB", "memory"),
        ("cuda", "PyTorch is not linked with support for mps devices", "device"),
        ("cpu", "CUDA error: no CUDA-capable device is detected", "device"),
    ],
)
def test_what_goes_wrong_on_the_device_that_is_used_is_the_codes_own(
    device: str, text: str, kind: str, tmp_path: Path
) -> None:
    from goldsmith.worker.failure_reasons import _kind_of

    job: Any = SimpleNamespace(device=device, folder=str(tmp_path), root=str(tmp_path), recipe="")
    assert _kind_of(RuntimeError(text), job, (), None)[0] == kind


# --- odd values -----------------------------------------------------------------------------------------------------


def test_a_number_where_gold_has_a_table_with_marks_of_noise_is_no_error_of_ours() -> None:
    """A second run is compared with the first, which may have any shape."""
    gold = load_gold(example_folder() / "tests/internal/fixtures/scratch-3")["times"]
    assert gold.noisy
    assert compare_case({"output": 0.0}, {"output": 0.0}, gold, equal_nan=True).agrees
    assert not compare_case({"output": 0.0}, judged_part(gold.data), gold).agrees


def test_a_flag_that_is_wrong_can_be_graded() -> None:
    wrong = leaf(actual=True, gold=False, elements=1, gold_dtype="bool (Python)", index=())
    graded = grade(verdict(case("whole", "differs", leaves=(wrong,), natural=(wrong,))), rubric())
    assert graded.outcome == "differs"

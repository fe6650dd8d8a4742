"""What the course's own code cannot do where it grades is staff's: no student is blamed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.check.recipe_failures import RECIPE, excuse
from goldsmith.judge.verdicts import COULD_NOT_RUN, ERROR, CaseVerdict
from goldsmith.runs.run import Failure, Frame
from goldsmith.sandbox import private_network
from goldsmith.sandbox.capabilities import probe
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk

needs_sandbox = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")
RECIPE_TEXT = """
    import socket

    import numpy as np

    import goldsmith as gs
    from ops import scale


    @gs.case
    def fine(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))).copy())


    @gs.case(allow={"sandbox": "for this test"})
    def served(case):
        y = scale(case.input("x", lambda: np.random.randn(2, 5)))
        with socket.create_server(("127.0.0.1", 0)):
            case.record("y", y)


    if __name__ == "__main__":
        gs.main()
"""
SUBMITTED = {
    "right": "return x * 3.0",
    "wrong": "return x * 2.0",
    "stub": "raise NotImplementedError",
    "no-array": "return 'text'",
    "denied": "open('/etc/shadow'); return x * 3.0",
    "forged": "raise PermissionError(1, 'Operation not permitted').with_traceback(None) from None",
    "killed": "import os; os._exit(1)",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, dict[str, Any], int]:
    course = CourseOnDisk(tmp_path_factory.mktemp("staffs") / "course")
    course.write(
        {
            "src/assignments/hw1/ops.py": "def scale(x):\n    raise NotImplementedError\n",
            SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n",
            RECIPE_FILE: RECIPE_TEXT,
            "goldsmith.toml": "",
            **{f"class/{name}/ops.py": f"def scale(x):\n    {line}\n" for name, line in SUBMITTED.items()},
        }
    ).with_gold()
    run = course.run("grade", "hw1", "class", "--json")
    return course, run.json, run.code


def _of(graded: tuple[CourseOnDisk, dict[str, Any], int], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    (found,) = [item for item in graded[1]["submissions"] if item["name"] == name]
    return found, {case["name"]: case for case in found["cases"]}


def _feedback(graded: tuple[CourseOnDisk, dict[str, Any], int], name: str) -> str:
    return Path(graded[0].root, "private/grades/hw1/feedback", f"{name}.md").read_text()


@needs_sandbox
def test_a_line_of_the_recipe_that_the_sandbox_refuses_is_staffs(graded: tuple[CourseOnDisk, Any, int]) -> None:
    found, cases = _of(graded, "right")
    assert graded[2] == 3
    assert (found["outcome"], found["score"], found["review"]) == ("error", 1.0, ["served"])
    assert (cases["served"]["outcome"], cases["served"]["cause"]) == ("error", RECIPE)
    assert {part["outcome"] for part in found["parts"]} == {"error"}, "nobody is blamed"
    text = _feedback(graded, "right")
    assert "The course's own code failed here, not yours, in `served`" in text
    assert "on your own machine" not in text
    assert "Operation not permitted" not in text


@needs_sandbox
def test_staff_read_which_line_and_which_setting(graded: tuple[CourseOnDisk, Any, int]) -> None:
    overview = graded[1]["overview"]
    (note,) = [note for note in overview["notes"] if "course's own code" in note]
    assert "`loopback = true` under `[grade]`" in note
    line = (
        (graded[0].root / RECIPE_FILE)
        .read_text()
        .splitlines()
        .index('    with socket.create_server(("127.0.0.1", 0)):')
    )
    assert f"line {line + 1} of generate_fixtures.py: PermissionError" in note
    assert not [item for item in overview["clusters"] if "right" in item["names"]], "it is nobody's mistake"
    assert all(item["cause"] != RECIPE for item in overview["clusters"])


@needs_sandbox
def test_a_mistake_beside_it_is_still_told(graded: tuple[CourseOnDisk, Any, int]) -> None:
    found, cases = _of(graded, "wrong")
    assert (cases["fine"]["outcome"], cases["served"]["outcome"], found["score"]) == ("differs", "error", 0.0)
    assert "Look at `scale` first" in _feedback(graded, "wrong")
    found, cases = _of(graded, "stub")
    assert {case["outcome"] for case in cases.values()} == {"could-not-run"}
    assert found["not_started"]


@needs_sandbox
@pytest.mark.parametrize("name", ["no-array", "denied", "forged", "killed"])
def test_what_the_solution_can_do_is_the_submissions_own_failure(
    graded: tuple[CourseOnDisk, Any, int], name: str
) -> None:
    found, cases = _of(graded, name)
    assert cases["fine"]["outcome"] == "could-not-run"
    assert found["score"] == 0.0
    assert "not judged" in _feedback(graded, name) or "Look at" in _feedback(graded, name)


@pytest.mark.skipif(bool(private_network.why_not()), reason="no private network can be made here")
@needs_sandbox
def test_once_staff_have_let_it_in_everybody_is_judged(graded: tuple[CourseOnDisk, Any, int]) -> None:
    course = graded[0]
    course.write({"goldsmith.toml": "[grade]\nloopback = true\n"})
    (right,) = course.run("grade", "hw1", "class/right", "--json").json["submissions"]
    assert (right["outcome"], right["score"]) == ("agrees", 2.0)


# --- the decision -----------------------------------------------------------------------------------------------------

RECIPE_LINE = Frame("generate_fixtures.py", 3, "served", "serve()")
OWN_LINE = Frame("ops.py", 7, "scale", "open('x')")


def _case(failure: Failure) -> dict[str, CaseVerdict]:
    return {
        "served": CaseVerdict(
            name="served", title="", outcome=COULD_NOT_RUN, reason=failure.message, kind=failure.kind, failure=failure
        )
    }


def _excused(failure: Failure, solution: dict[str, Failure] | None) -> bool:
    found, told = excuse(_case(failure), "generate_fixtures.py", lambda: solution, loopback=False, ported=False)
    assert bool(told) == (found["served"].outcome == ERROR)
    return bool(told)


REFUSED = "PermissionError: [Errno 1] Operation not permitted"
_KINDS = [
    "raised",
    "exit",
    "memory",
    "package",
    "device",
    "stub",
    "import",
    "call",
    "none",
    "weights",
    "timeout",
    "killed",
]
_FAILURES = st.builds(
    Failure,
    kind=st.sampled_from(_KINDS),
    message=st.sampled_from([REFUSED, "ValueError: no", "took longer than 3 s", ""]),
    frames=st.lists(st.sampled_from([RECIPE_LINE, OWN_LINE]), max_size=3).map(tuple),
)


@given(_FAILURES)
def test_where_the_solution_runs_every_failure_is_the_submissions(failure: Failure) -> None:
    assert not _excused(failure, {})
    assert not _excused(failure, {"another": Failure(kind="raised", message=REFUSED, frames=(RECIPE_LINE,))})


@given(_FAILURES, _FAILURES)
def test_what_students_have_not_written_is_theirs_whatever_the_solution_does(failure: Failure, other: Failure) -> None:
    excused = _excused(failure, {"served": other})
    if failure.kind in ("stub", "import", "call", "none", "weights"):
        assert not excused
    elif not failure.frames or failure.frames[-1] == RECIPE_LINE:
        assert excused


@pytest.mark.parametrize(
    ("frames", "message", "staffs"),
    [
        ((RECIPE_LINE,), REFUSED, True),
        ((RECIPE_LINE, OWN_LINE), REFUSED, False),
        ((RECIPE_LINE,), "ValueError: shapes differ", False),
        ((), REFUSED, False),
    ],
)
def test_without_a_solution_only_what_is_refused_to_the_recipe_is_staffs(
    frames: tuple[Frame, ...], message: str, staffs: bool
) -> None:
    assert _excused(Failure(kind="raised", message=message, frames=frames), None) == staffs


def test_the_same_error_in_the_solutions_own_line_and_in_the_submissions_is_staffs() -> None:
    failure = Failure(kind="raised", message=REFUSED, frames=(RECIPE_LINE, OWN_LINE))
    assert _excused(failure, {"served": failure})
    assert not _excused(failure, {"served": Failure(kind="raised", message="OSError: other", frames=(OWN_LINE,))})

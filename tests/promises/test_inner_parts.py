"""A part that no case calls by itself earns its points by what it computes, not by what its callers compute in its
place; and work that is in use keeps them."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grades import Grade
from goldsmith.judge.verdicts import Verdict
from goldsmith.judge.words import headline
from goldsmith.process.fork_client import ForkClient
from support.check_course import hand_in, judge
from support.course import CourseOnDisk, exercise, numpy_course
from support.points_course import judged

BODIES = {
    "softmax(x)": """
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    """,
    "breadth(x)": "return x.shape[-1] // 2 + 1",
    "weigh(w, v)": "return w @ v",
    "attend(q, k, v)": "return weigh(softmax(q @ k.T / breadth(q)), v)",
    "halves(x)": "return [x[:, :3] * 2, x[:, 3:] * 3]",
    "clip(x)": "x[x < 0] = 0.0",
    "jitter(x)": "return x + np.random.randn(*x.shape)",
    "disturb(x)": """
        a, b = halves(x)
        clip(a)
        return jitter(np.concatenate([a, b]))
    """,
}
ATTEND, DISTURB = "attend(q, k, v)", "disturb(x)"
INLINED = """
    {}
    s = q @ k.T / 4
    e = np.exp(s - s.max(-1, keepdims=True))
    return {}
"""
ALONE = INLINED.format("", "weigh(e / e.sum(-1, keepdims=True), v)")
"""`attend` without `softmax` and `breadth`."""
UNCHANGED = {name.partition("(")[0] for name in BODIES}
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import attend, disturb


    @gs.case
    def attended(case):
        q, k, v = (case.input(name, lambda: np.random.randn(5, 6)) for name in "qkv")
        case.record("y", attend(q, k, v))


    @gs.case
    def disturbed(case):
        case.record("y", disturb(case.input("x", lambda: np.random.randn(4, 6))))


    if __name__ == "__main__":
        gs.main()
"""


def source(changes: dict[str, str]) -> str:
    """`ops.py` with other bodies; a function with another signature takes the place of the one of its name."""
    named = {head.partition("(")[0]: (head, body) for head, body in (*BODIES.items(), *changes.items())}
    texts = ['"""Exercise: attention, and noise."""\n\nfrom pathlib import Path\n\nimport numpy as np\n']
    for head, body in named.values():
        texts.append(f"\n\ndef {head}:\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n")
    return "".join(texts)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = numpy_course(tmp_path_factory.mktemp("inner"))
    rubric = "".join(f"{name} = 1\n" for name in sorted(UNCHANGED))
    files = exercise(source({}), RECIPE, starter=source(dict.fromkeys(BODIES, "raise NotImplementedError")))
    return found.write(files | {"goldsmith.toml": f"[assignment.hw1.rubric.parts]\n{rubric}"}).with_gold()


def graded(course: CourseOnDisk, warm: ForkClient, changes: dict[str, str]) -> tuple[Verdict, Grade]:
    verdict, grade = judged(course, {"ops.py": source(changes)}, warm)
    assert {case.outcome for case in verdict.cases} == {"agrees"}
    return verdict, grade


def without_points(grade: Grade) -> dict[str, str]:
    """Parts that earned nothing, each with its outcome."""
    return {item.name: item.outcome for item in grade.items if not item.earned}


def test_parts_that_are_bypassed_and_wrong_earn_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    wrong = {"softmax(x)": "return x", "breadth(x)": "return 0", "halves(x)": "return [x, x]", "jitter(x)": "1 / 0"}
    noise = (
        "a, b = x[:, :3] * 2, x[:, 3:] * 3\nclip(a)\ny = np.concatenate([a, b])\nreturn y + np.random.randn(*y.shape)"
    )
    verdict, grade = graded(course, warm, {**wrong, ATTEND: ALONE, DISTURB: noise})
    expected = dict.fromkeys(("softmax", "breadth", "halves"), "differs") | {"jitter": "could-not-run"}
    assert without_points(grade) == expected
    assert grade.review == ("jitter",)
    assert (verdict.outcome, verdict.exit_code, verdict.first_part) == ("differs", 1, "breadth")
    assert headline(verdict).startswith(
        "both cases agree, but breadth is not used by the code, and gives something else on gold's inputs"
    )
    feedback = feedback_markdown(grade, verdict)
    assert "your code gets along without it, and by itself it is wrong" in feedback
    assert "ZeroDivisionError" not in feedback_markdown(grade, verdict, verbose=True)


def test_parts_that_are_bypassed_and_not_written_earn_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    missing = {"softmax(x)": "if len(x):\n    raise NotImplementedError", "breadth(x)": "n = x.shape"}
    _, grade = graded(course, warm, {**missing, ATTEND: ALONE})
    assert without_points(grade) == {"softmax": "could-not-run", "breadth": "differs"}


def test_parts_that_are_written_in_place_and_right_by_themselves_keep_their_points(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    verdict, grade = graded(course, warm, {ATTEND: ALONE})
    assert (without_points(grade), grade.review, verdict.outcome) == ({}, (), "agrees")


def test_parts_that_changed_together_with_their_callers_keep_their_points(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    changes = {
        "softmax(q, k, n)": f"x = q @ k.T / n\n{textwrap.dedent(BODIES['softmax(x)'])}",
        "breadth(columns, offset)": "return columns // 2 + offset",
        "weigh(w, v, transposed=False)": "return w @ (v.T if transposed else v)",
        ATTEND: "return weigh(softmax(q, k, breadth(q.shape[-1], 1)), v)",
        "halves(x)": "yield x[:, :3] * 2\nyield x[:, 3:] * 3",
    }
    verdict, grade = graded(course, warm, changes)
    assert (without_points(grade), grade.review, verdict.outcome) == ({}, (), "agrees")


def test_a_call_that_is_made_for_nothing_earns_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    """Its callers may know what to do with another answer than gold's, so that a person has to look."""
    thrown = INLINED.format("softmax(s := q @ k.T / 4); breadth(q)", "weigh(e / e.sum(-1, keepdims=True), v)")
    noise = BODIES[DISTURB].replace("clip(a)", "a[a < 0] = 0")
    changes = {"softmax(x)": "return np.sin(x)", "breadth(x)": "return 7", ATTEND: thrown, "clip(x)": "x[:] = 0"}
    verdict, grade = graded(course, warm, {**changes, DISTURB: noise})
    assert without_points(grade) == dict.fromkeys(("softmax", "breadth", "clip"), "not-judged")
    assert sorted(grade.review) == ["breadth", "clip", "softmax"]
    assert verdict.outcome == "agrees"
    assert "Staff will look at `breadth`, `clip` and `softmax`." in feedback_markdown(grade, verdict)


def test_to_return_what_was_computed_elsewhere_earns_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    handed = INLINED.replace("4", "breadth(4)").format("", "weigh(softmax(e / e.sum(-1, keepdims=True)), v)")
    _, grade = graded(course, warm, {"softmax(x)": "return x", "breadth(x)": "return x", ATTEND: handed})
    assert without_points(grade) == dict.fromkeys(("softmax", "breadth"), "differs")


def test_what_a_part_was_given_alone_does_not_help_another(course: CourseOnDisk, warm: ForkClient) -> None:
    """The first argument of `weigh` is gold's answer of `softmax`."""
    kept = "Path(__file__).with_name('seen.npy')"
    changes = {
        "softmax(x)": f"return np.load({kept}) if {kept}.exists() else np.sin(x)",
        "weigh(w, v)": f"np.save({kept}, w)\nreturn w @ v",
        ATTEND: INLINED.format("softmax(q @ k.T / breadth(q))", "(e / e.sum(-1, keepdims=True)) @ v"),
    }
    _, grade = graded(course, warm, changes)
    assert without_points(grade) == {"softmax": "not-judged"}


def test_nothing_more_is_run_than_is_needed(
    course: CourseOnDisk, checked: CourseOnDisk, warm: ForkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that have cases of their own are not called alone; one that is right alone needs no further workspace."""
    calls: list[str] = []

    def noting(name: str, original: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            calls.append(name)
            return original(*args, **options)

        return call

    for owner, name in ((ReplayWorkspace, "run_module"), (CheckContext, "open_workspace")):
        monkeypatch.setattr(owner, name, noting(name, getattr(owner, name)))
    assert judge(checked, hand_in(checked), warm).outcome == "agrees"
    assert calls == ["open_workspace"]
    calls.clear()
    folder = course.root.parent / "right"
    folder.mkdir()
    (folder / "ops.py").write_text(source({}))
    assert judge(course, str(folder), warm, cases=["attended"]).outcome == "agrees"
    assert calls == ["open_workspace", *["run_module"] * 3]

"""Submissions that want points for what they have not written, or have wrong: they earn no more than an honest one that
is wrong in the same way, and what they say once they know more than others is told to nobody but staff.

Each is one file in `hostile/points`. They do no harm, so that they can be judged without walls.
"""

from __future__ import annotations

import textwrap

import msgspec
import pytest

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.junit import junit_xml
from goldsmith.courses.grade.overview import overview_markdown, overview_of
from goldsmith.courses.grade.result_files import grades_csv, gradescope_json, submission_json
from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.courses.layout.layout import find_course
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.course import CourseOnDisk
from support.points_course import BODIES, FULL, attack, attacks, crediting_course, judged, source

pytestmark = pytest.mark.torch
QUICK = {"hides_its_modules", "raises_elsewhere_without_trace", "raises_in_float64", "returns_what_it_is_given"}
ATTACKS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in attacks()]
REVIEWED = {"raises_in_float64": "normed", "rounds_in_float64": "normed"}
"""What a person is told to look at."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return crediting_course(tmp_path_factory.mktemp("crediting") / "course")


def handed_in(course: CourseOnDisk, warm: ForkClient, **bodies: str) -> tuple[Verdict, Grade]:
    return judged(course, {"net.py": source(**bodies)}, warm)


def earned(grade: Grade) -> dict[str, float]:
    return {item.name: item.earned for item in grade.items}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_earns_no_more_than_it_may(course: CourseOnDisk, warm: ForkClient, name: str) -> None:
    files, most = attack(name)
    verdict, grade = judged(course, files, warm)
    assert verdict.outcome != "error"
    assert grade.score <= most, earned(grade)
    assert REVIEWED.get(name, "") in ("", *grade.review)


def test_right_work_earns_everything_and_an_untouched_starter_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    assert handed_in(course, warm)[1].score == FULL
    verdict, grade = handed_in(course, warm, **dict.fromkeys(BODIES, "raise NotImplementedError"))
    assert (grade.score, verdict.not_started, set(verdict.unwritten)) == (0.0, True, set(BODIES))


def test_parts_beside_one_that_is_not_written_are_seen_alone_and_earn_their_points(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    points = earned(handed_in(course, warm, Mix="raise NotImplementedError")[1])
    assert (points["Norm"], points["gap"], points["Mix"]) == (3.0, 1.0, 0.0)


def test_one_agreeing_case_does_not_outvote_another_in_which_a_part_is_wrong(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    body = BODIES["Norm"].replace("return ", "y = ") + "\nreturn y if x.shape == (2, 3, 8) else y * 1.5"
    points = earned(handed_in(course, warm, Norm=body)[1])
    assert (points["normed"], points["Norm"]) == (1.0, 0.0)


def test_a_mistake_that_only_float64_shows_is_blamed_on_the_part_that_has_it(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    verdict, _ = handed_in(course, warm, Norm=BODIES["Norm"].replace("1e-5", "1.1e-5"))
    assert {part.name for part in verdict.parts if part.outcome == "differs"} == {"Norm"}


# --- what is given --------------------------------------------------------------------------------------------------


def given(course: CourseOnDisk, warm: ForkClient, hides: str) -> set[str]:
    """All that it is called alone on: which of gold's values it is handed."""
    board = course.root.parent / "board"
    board.unlink(missing_ok=True)
    text = attack("chooses_what_it_is_given")[0]["net.py"]
    text = text.replace('HIDES = "nothing"', f'HIDES = "{hides}"').replace('BOARD = ""', f'BOARD = "{board}"')
    verdict, _ = judged(course, {"net.py": text}, warm)
    assert {case.name for case in verdict.cases if case.outcome != "agrees"} == {"mixed", "mixed_long", "trained"}
    return set(board.read_text().splitlines())


def test_what_it_leaves_out_does_not_choose_what_it_is_given(course: CourseOnDisk, warm: ForkClient) -> None:
    open_to_all = given(course, warm, "nothing")
    assert {line.split()[0] for line in open_to_all} == {"Norm", "Mix", "gap"}
    for hides in ("its trace", "its end"):
        assert given(course, warm, hides) == open_to_all, hides
    assert given(course, warm, "its norm") < open_to_all, "what is not there is made up for by nothing"


# --- what is told ---------------------------------------------------------------------------------------------------

WHEN_ALONE = """
import sys
frame, names = sys._getframe(), []
while frame:
    names.append(frame.f_code.co_name)
    frame = frame.f_back
if "run_alone" in names:
    {action}
"""
KINDS_WITHOUT_CULPRIT = "return self.line(self.norm(x + 1)) + x"
"""A caller that gives its norm the wrong thing, so that this is judged on gold's own inputs."""
SAYINGS = [
    "raise ValueError('told by shouting' * 5)",
    "raise MemoryError('told by dying')",
    "raise NotImplementedError('told by stubs')",
    "raise ModuleNotFoundError('no module', name='told_by_names')",
    "print('told by printing')\n    raise SystemExit('told by leaving')",
    "import time\n    time.sleep(1.2)\n    raise ValueError('told by time')",
]
ANSWERS = ["return x * 1e30", "return x * 12345.678", "return x[:1].repeat(7, 1, 1)", "return x.double()[..., :3]"]


def told(course: CourseOnDisk, verdict: Verdict, grade: Grade) -> str:
    """All that reaches a student, or may."""
    rubric = rubric_for(find_course(course.root).assignment("hw1"), allow_stale=False)
    quick = msgspec.structs.replace(grade, seconds=0.0)
    feedback = [feedback_markdown(grade, verdict, verbose=verbose) for verbose in (False, True)]
    pages = [verdict_markdown(verdict, verbose=verbose) for verbose in (False, True)]
    files = [submission_json(grade).decode(), gradescope_json(grade, feedback[1]).decode(), junit_xml("hw1", [grade])]
    overview = overview_markdown(overview_of("hw1", [grade]))
    return "\n".join([*feedback, *pages, *files, overview, grades_csv([quick], rubric)])


@pytest.mark.parametrize("actions", [SAYINGS[:2], pytest.param(SAYINGS, marks=pytest.mark.long)])
def test_what_a_part_says_when_it_runs_alone_is_told_to_nobody(
    course: CourseOnDisk, warm: ForkClient, actions: list[str]
) -> None:
    found = set()
    for action in actions:
        body = WHEN_ALONE.format(action=action) + BODIES["Norm"].replace("return ", "return 1.5 * ")
        verdict, grade = handed_in(course, warm, Norm=body, Mix=KINDS_WITHOUT_CULPRIT)
        text = told(course, verdict, grade)
        assert "told" not in text
        said = [module.said for case in verdict.cases for module in case.modules if module.alone]
        assert any(said) or "time" in action, "staff may read it"
        found.add(text)
    assert len(found) == 1, "whatever it says, and however it ends"


@pytest.mark.parametrize("answers", [ANSWERS[:2], pytest.param(ANSWERS, marks=pytest.mark.long)])
def test_what_a_part_answers_when_it_runs_alone_is_right_or_wrong_and_no_more(
    course: CourseOnDisk, warm: ForkClient, answers: list[str]
) -> None:
    found = set()
    for answer in answers:
        body = WHEN_ALONE.format(action=answer) + "return x * 1.5"
        found.add(told(course, *handed_in(course, warm, Norm=body, Mix=KINDS_WITHOUT_CULPRIT)))
    assert len(found) == 1


FORGED = """
import gc
digits = int(x.abs().sum() * 1e4)
for item in gc.get_objects():
    if type(item).__name__ == "Sightings":
        item._found["torch.nn.MultiheadAttention", f"net.py:{digits}"] = None
"""


def test_uses_of_what_is_forbidden_are_not_told_by_a_part_that_runs_alone(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    settings = course.root / "goldsmith.toml"
    before = settings.read_text()
    settings.write_text(f'forbid = ["torch.nn.MultiheadAttention"]\n{before}')
    try:
        forged = textwrap.indent(FORGED, "    ").strip()
        body = WHEN_ALONE.format(action=forged) + BODIES["Norm"].replace("return ", "return 1.5 * ")
        verdict, grade = handed_in(course, warm, Norm=body, Mix=KINDS_WITHOUT_CULPRIT)
    finally:
        settings.write_text(before)
    assert any(module.alone for case in verdict.cases for module in case.modules)
    assert (verdict.forbidden, grade.forbidden) == ((), ())


def test_an_answer_that_is_far_too_large_does_not_tell_the_size_of_golds(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    for bodies in ({"gap": "return (y - target).pow(2).mean() * 0 + 1e9"}, {"Norm": "return x * 0 + 1e9"}):
        verdict, grade = handed_in(course, warm, **bodies)
        assert grade.off_by is not None
        digits = f"{grade.off_by:.6g}".replace(".", "").partition("e")[0][:4]
        assert digits not in told(course, verdict, grade).replace(".", "")


# --- odd dtypes -----------------------------------------------------------------------------------------------------

DTYPES = ["bfloat16", "float16", "complex64", "complex128", "bool", "int8", "float64", "float8_e4m3fn"]


@pytest.mark.parametrize("dtype", ["bfloat16", *(pytest.param(name, marks=pytest.mark.long) for name in DTYPES[1:])])
def test_a_part_that_returns_another_dtype_costs_nobody_else_a_point(
    course: CourseOnDisk, warm: ForkClient, dtype: str
) -> None:
    body = BODIES["Norm"].replace("return ", "y = ") + f"\nreturn y.to(torch.{dtype})"
    verdict, grade = handed_in(course, warm, Norm=body, Mix="return self.line(self.norm(x).real.to(x.dtype)) + x + 1")
    points = earned(grade)
    assert verdict.outcome == "differs"
    assert (points["gapped"], points["gap"], points["Norm"], points["Mix"]) == (1.0, 1.0, 0.0, 0.0)


def test_a_quantised_inner_module_is_no_error_of_ours(course: CourseOnDisk, warm: ForkClient) -> None:
    body = "return torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8)"
    verdict, grade = handed_in(course, warm, Norm=body, Mix="return self.line(self.norm(x).dequantize()) + x")
    assert verdict.outcome in ("differs", "could-not-run")
    assert earned(grade)["gap"] == 1.0

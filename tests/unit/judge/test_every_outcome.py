"""Every output knows every outcome: a new one cannot be forgotten in a table, a page or an exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest

from goldsmith.courses.grade import overview
from goldsmith.courses.grade.classroom50 import classroom50_json, facts_from, points_scale
from goldsmith.courses.grade.feedback import OUTCOMES, feedback_markdown
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.junit import junit_xml
from goldsmith.courses.grade.junit import test_of as junit_test
from goldsmith.courses.grade.result_files import autolab_line, grades_csv, gradescope_json, submission_json
from goldsmith.courses.grade.scoring import NOT_JUDGED, ItemOutcome, score
from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.courses.handout.kit_report import kit_report
from goldsmith.html_report.class_page import SYMBOLS, ClassPages
from goldsmith.judge import words
from goldsmith.judge.verdicts import (
    AGREES,
    DIFFERS,
    GRAVITY,
    INCONCLUSIVE,
    PROVIDED_CHANGED,
    Cancellation,
    CaseVerdict,
    Outcome,
    Verdict,
    exit_code,
    gravest,
)
from goldsmith.model_parity.result import ParityReport
from goldsmith.render.grades import grade_row
from goldsmith.render.parity_html import parity_html
from goldsmith.render.verdict import verdict_text
from support.made_verdicts import CASES, case, rubric, verdict

ROOT = Path(__file__).parents[3]
ALL: tuple[Outcome, ...] = get_args(Outcome)
LOST = Cancellation(tensor="output.y", dtype="float32", moved=0.34, amplified=3e6, remedy="choose other inputs")
each = pytest.mark.parametrize("outcome", ALL)


def made(outcome: Outcome) -> Verdict:
    more: dict[str, Any] = {"kind": outcome, "reason": "y moves", "cancels": LOST} if outcome == INCONCLUSIVE else {}
    return verdict(case("whole", outcome, **more), *(case(name) for name in CASES[1:]))


def test_the_lists_are_complete() -> None:
    assert sorted(GRAVITY) == sorted(ALL) == sorted(words.OUTCOMES)
    assert set(get_args(ItemOutcome)) == set(overview.ORDER) == set(OUTCOMES) == set(SYMBOLS) == {*ALL, NOT_JUDGED}
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)


def test_what_is_graver_counts() -> None:
    order: tuple[Outcome, ...] = (
        "error", "differs", "could-not-run", "inconclusive", "provided-changed", "agrees",
    )  # fmt: skip
    for place, grave in enumerate(order):
        assert gravest(order[place:]) == grave


@each
def test_only_agreement_exits_with_0_and_only_a_verdict_against_with_1(outcome: Outcome) -> None:
    against = (DIFFERS, PROVIDED_CHANGED)
    expected = 0 if outcome == AGREES else 1 if outcome in against else 3
    assert (exit_code(outcome), made(outcome).exit_code) == (expected, expected)
    assert ParityReport(name="a", reference="b", outcome=outcome).exit_code == expected


@each
def test_every_rendering_says_it(outcome: Outcome) -> None:
    found, said = made(outcome), words.OUTCOMES[outcome]
    graded = grade(found, rubric())
    feedback = feedback_markdown(graded, found, verbose=True)
    class_ = overview.overview_of("hw1", [graded])
    pages = ClassPages()
    for text in (
        verdict_text(found),
        verdict_markdown(found, verbose=True),
        feedback,
        overview.overview_markdown(class_),
        pages.of_submission(graded, found),
        pages.of_class([graded], ["ada"], class_),
        " ".join(grade_row(graded)),
    ):
        assert said in text.replace("-", " "), text
    assert outcome in grades_csv([graded], rubric())
    assert json.loads(submission_json(graded))["outcome"] == outcome
    assert json.loads(gradescope_json(graded, feedback))["extra_data"]["outcome"] == outcome
    assert "0" in autolab_line(graded, False)
    assert kit_report(found)
    assert said in parity_html(ParityReport(name="a", reference="b", outcome=outcome, cases=found.cases[:1]))


@each
def test_only_agreement_passes(outcome: Outcome) -> None:
    graded = grade(made(outcome), rubric())
    (item, *_) = graded.items
    tests = json.loads(gradescope_json(graded, ""))["tests"]
    assert (tests[0]["status"] == "passed") is (outcome in (AGREES, PROVIDED_CHANGED))
    scale = points_scale(rubric(), 0.0)
    row = json.loads(classroom50_json(graded, facts_from({}, ""), scale))["tests"][0]
    assert row["passed"] is (outcome in (AGREES, PROVIDED_CHANGED))
    assert (item.earned == item.points) is (outcome in (AGREES, PROVIDED_CHANGED))
    assert item.needs_review or outcome in (AGREES, DIFFERS) or outcome == "could-not-run"
    suite = ElementTree.fromstring(junit_xml("hw1", [graded]))
    (faults,) = [[child.tag for child in test] for test in suite.iter("testcase") if test.get("name") == "case whole"]
    assert bool(faults) is (outcome != AGREES)
    assert bool(junit_test("a", outcome, "").fault) is (outcome != AGREES)


@each
def test_pages_colour_it_and_docs_explain_it(outcome: Outcome) -> None:
    folder = ROOT / "src/goldsmith/html_report/templates"
    css, said = (folder / "page.css").read_text(), words.OUTCOMES[outcome]
    for selector in (f".outcome.{outcome}", f".chip.{outcome}", f".cell.{outcome}", f".{outcome} h1 .outcome"):
        assert selector in css
    assert SYMBOLS[outcome] in (folder / "class.html").read_text()
    assert f"`{outcome}`" in (ROOT / "docs/reference/exit-codes.md").read_text()
    for page in ("checking", "grading"):
        assert re.search(rf"^\| {said} ", (ROOT / f"docs/{page}.md").read_text(), re.M)


# --- inconclusive: never a pass, never a failure ----------------------------------------------------------------------


def test_it_names_the_tensor_by_how_much_its_terms_cancel_and_the_remedy() -> None:
    found = made(INCONCLUSIVE)
    assert words.headline(found) == "inconclusive in 1 of 4 cases: y moves"
    assert words.next_step(found) == "choose other inputs"
    plain = found.plain()["cases"][0]["cancels"]
    assert plain == {
        "tensor": "output.y", "dtype": "float32", "moved": 0.34, "amplified": 3e6, "remedy": "choose other inputs",
    }  # fmt: skip


@pytest.mark.parametrize(("share", "earned"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_the_rubric_says_what_it_is_worth_and_it_always_needs_review(share: float, earned: float) -> None:
    items = {item.name: item for item in score(made(INCONCLUSIVE), rubric(inconclusive=share, cases={"whole": 1.0}))}
    item = items["whole"]
    assert (item.outcome, item.earned, item.needs_review) == (INCONCLUSIVE, earned, True)
    assert item.why == "not judged: y moves; staff will look at it"


def test_a_part_that_only_such_a_case_shows_is_inconclusive_too() -> None:
    found = verdict(
        CaseVerdict(name="norm", title="", outcome=INCONCLUSIVE, kind=INCONCLUSIVE, reason="y moves", cancels=LOST),
        by_case={"norm": ("Norm",)},
    )
    assert [(part.name, part.outcome) for part in found.parts] == [("Norm", INCONCLUSIVE)]
    (item,) = score(found, rubric(parts={"Norm": 2}))
    assert (item.outcome, item.earned, item.needs_review) == (INCONCLUSIVE, 0.0, True)


def test_a_wrong_case_counts_more_and_what_did_not_run_too() -> None:
    both = verdict(made(INCONCLUSIVE).cases[0], case("norm", "differs"))
    assert both.outcome == DIFFERS
    assert "1 inconclusive" in words.headline(both)
    assert verdict(made(INCONCLUSIVE).cases[0], case("norm", "could-not-run")).outcome == "could-not-run"

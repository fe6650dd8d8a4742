"""Pages for students give nothing of gold's away: whoever knows an own answer and a page knows a step of tolerance."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator

import numpy as np
import pytest

from goldsmith.comparison.api import compare
from goldsmith.courses.grade.grades import grade
from goldsmith.html_report.page import render_report
from goldsmith.html_report.verdict_page import verdict_report
from goldsmith.judge.decision import decide
from goldsmith.judge.leaf_words import step_of
from goldsmith.judge.policy import CLOSE, STEP_LIMITS
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, ModuleVerdict, Verdict, gravest
from support.made_pages import an_environment, author_page, evidence_of
from support.made_verdicts import rubric

RTOL = 1e-4
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.I)
SIZES = {0: (0.05, 0.9), 1: (1.2, 9.0), 2: (11.0, 900.0), 3: (1500.0, 9e5)}
"""Errors in units of tolerance, by the step that they are in."""


def judged(gold: dict[str, np.ndarray], theirs: dict[str, np.ndarray], inside: float, alone: float) -> Verdict:
    """What `goldsmith check` would find: recorded values, a module in place and one that ran alone on gold's inputs."""
    found = compare(theirs, gold, rtol=RTOL, atol=0.0)
    modules = (
        ModuleVerdict(case="whole", model="m", name="a", kind="A", outcome=DIFFERS, source=True, relative=inside),
        ModuleVerdict(case="whole", model="m", name="b", kind="B", outcome=DIFFERS, alone=True, relative=alone),
        ModuleVerdict(case="whole", model="m", name="c", kind="C", outcome=AGREES, alone=True, relative=alone),
    )
    case = CaseVerdict(
        name="whole", title="", outcome=AGREES, natural=found.leaves, leaves=found.leaves, judged_in="float64"
    )
    case = decide(case, found, None)
    if case.outcome == DIFFERS:
        case = case = CaseVerdict(
            **{name: getattr(case, name) for name in case.__struct_fields__} | {"modules": modules}
        )
    return Verdict(name="ben", assignment="hw1", outcome=gravest([case.outcome]), cases=(case,), first_case="whole")


def answers(step: int, count: int) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray], float, float]]:
    """Golds of all sizes, each with an answer whose every element is off by an error within one step."""
    random = np.random.default_rng(step)
    for _ in range(count):
        gold = {
            "logits": random.normal(size=(4, 3)) * 10 ** random.uniform(-3, 3),
            "loss": np.array(random.uniform(0.1, 9)),
        }
        theirs = {}
        for name, values in gold.items():
            units = random.uniform(*SIZES[step], size=values.shape) * random.choice([-1, 1], size=values.shape)
            theirs[name] = values * (1 + RTOL * units)
        yield gold, theirs, CLOSE * random.uniform(*SIZES[step]), random.uniform(0, 1)


def numbers_on(page: str) -> list[float]:
    """Every number in the page's text and attributes, its style and script apart."""
    body = html.unescape(re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S))
    return sorted({float(text) for text in NUMBER.findall(body)})


def guesses(page: str, theirs: np.ndarray) -> np.ndarray:
    """Everything that could be gold, each by one formula of the own values and any number of the page's, or two."""
    numbers = [number for number in numbers_on(page) if number]
    found = [theirs]
    for number in numbers + [one / two for one, two in itertools.permutations(numbers, 2)]:
        for sign in (1, -1):
            found += [theirs + sign * number, theirs * (1 + sign * number), theirs * (1 + sign * number / 100)]
            found.append(theirs * (1 + sign * number * RTOL))
        found += [theirs / number, np.full_like(theirs, number)]
    return np.stack(found)


@pytest.mark.parametrize("step", range(len(STEP_LIMITS)))
def test_all_answers_to_all_golds_within_one_step_have_the_same_page(step: int) -> None:
    """So that a page, with whatever one knows besides, tells which step it is and nothing else."""
    pages = {author_page(judged(*item)) for item in answers(step, 25)}
    assert len(pages) == 1


def test_of_two_answers_near_gold_no_page_tells_which_is_nearer() -> None:
    """Bisection over submissions moves in steps: a sweep of four hundred errors has as many pages as there are
    steps."""
    gold = {"loss": np.array(2.718281828)}
    by_page: dict[str, list[float]] = {}
    for units in np.geomspace(1.1e-3, 1e6, 400).tolist():
        theirs = {"loss": gold["loss"] * (1 + RTOL * units)}
        page = author_page(judged(gold, theirs, CLOSE * 5, units))
        by_page.setdefault(page, []).append(units)
    assert len(by_page) == len(STEP_LIMITS)
    limits = [0.0, *STEP_LIMITS]
    for found in by_page.values():
        step = step_of(found[0])
        assert {step_of(units) for units in found} == {step}
        assert found[0] < limits[step] * 1.06 + 2e-3, "no page is narrower than its step"
        assert found[-1] > min(limits[step + 1], 1e6) / 1.06


@pytest.mark.parametrize("step", [1, 2, 3])
def test_no_formula_of_the_numbers_on_pages_brings_answers_nearer_to_gold(step: int) -> None:
    """Signs and sizes within a step are unknown, so that the best formula is no better than the own answer, or zero."""
    left = []
    for gold, theirs, *more in answers(step, 12):
        page = author_page(judged(gold, theirs, *more))
        off = np.minimum(np.abs(theirs["logits"] - gold["logits"]), np.abs(gold["logits"]))
        left.append(np.abs(guesses(page, theirs["logits"]) - gold["logits"]) / off)
    by_formula = np.median(np.stack(left, axis=1).reshape(len(left[0]), -1), axis=1)
    assert by_formula.min() > 0.5


def test_the_same_numbers_on_a_page_for_staff_are_gold_s() -> None:
    """Or else the attack would prove nothing."""
    gold, theirs, *more = next(answers(2, 1))
    found = judged(gold, theirs, *more)
    page = render_report(verdict_report(found, evidence_of(found), an_environment()))
    assert "For staff" in page
    worst = found.cases[0].first_wrong
    assert worst is not None
    left = np.abs(guesses(page, theirs["logits"])[:, *worst.index] - worst.gold)
    assert left.min() < 1e-4 * worst.largest_gap


def test_calls_are_in_their_order_and_source_and_victim_are_told_by_shape_and_words() -> None:
    page = author_page(judged(*next(answers(2, 1))))
    rows = page.partition("What was called, in order")[2].partition("</table>")[0].split("<tr class=")[1:]
    assert [row.partition(">")[0] for row in rows] == ['"source"', '"holds"', '"victim"']
    assert ["begins here" in rows[0], "right when given the right inputs" in rows[2]] == [True, True]
    assert len(set(re.findall(r'<path d="([^"]+)"', "".join(rows)))) == 3
    assert "For staff" not in page


def test_a_right_answer_s_page_says_nothing_of_how_near_it_is() -> None:
    found = judged(*next(answers(0, 1)))
    assert found.outcome == AGREES
    assert "Where it goes wrong" not in author_page(found)
    assert grade(found, rubric()).outcome == AGREES

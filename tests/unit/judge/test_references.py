"""Which of several references are judged by, and what a candidate's differences from them come to: pure arithmetic, the
same in any order."""

from __future__ import annotations

import itertools
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.comparison.results import LeafComparison
from goldsmith.judge.policy import FAR_FROM_ALL
from goldsmith.judge.references import REFERENCES_DIFFER, Apart, Pair, judge_by_all, judged_by
from goldsmith.judge.verdicts import AGREES, DIFFERS, INCONCLUSIVE, CaseVerdict, Outcome

NOISE = 1e-6


def apart(places: list[float]) -> dict[Pair, Apart]:
    """Compare references that are numbers on a line, and agree where noise may part them."""
    found = {}
    for one, two in itertools.combinations(range(len(places)), 2):
        far = abs(places[one] - places[two])
        found[one, two] = Apart(AGREES if far <= NOISE else DIFFERS, far)
    return found


def case(far: float, outcome: Outcome = DIFFERS, judged_in: str = "float32") -> CaseVerdict:
    leaf = LeafComparison(
        path="output",
        agrees=outcome == AGREES,
        gold_dtype="float32",
        problem="values",
        relative=far,
        excess=far / NOISE,
    )
    return CaseVerdict(name="forward", title="", outcome=outcome, judged_in=judged_in, leaves=(leaf,), natural=(leaf,))


def compared(one: float, two: float) -> CaseVerdict:
    return case(abs(one - two), AGREES if abs(one - two) <= NOISE else DIFFERS)


def by_all(places: list[float], candidate: float) -> str:
    numbers = judged_by(len(places), apart(places))
    between = {(one, two): compared(places[one], places[two]) for one, two in itertools.combinations(numbers, 2)}
    return judge_by_all({number: compared(places[number], candidate) for number in numbers}, between)


def test_all_count_that_agree() -> None:
    assert judged_by(3, apart([0, 1e-7, 2e-7])) == (0, 1, 2)


def test_one_that_is_far_from_all_others_does_not_count_and_of_two_there_is_no_telling() -> None:
    assert judged_by(3, apart([0, 0.5, 1e-7])) == (0, 2)
    assert judged_by(2, apart([0, 0.5])) == (0, 1)
    assert judged_by(5, apart([0, 0.5, 0, 0.9, 0])) == (0, 2, 4)


def test_half_of_all_is_no_majority() -> None:
    assert judged_by(4, apart([0, 0, 1, 1])) == (0, 1, 2, 3)


def test_among_references_that_all_differ_one_is_far_that_is_many_times_as_far_as_the_rest() -> None:
    near = [0.0, 1e-4]
    assert judged_by(3, apart([*near, 1.01 * FAR_FROM_ALL * 1e-4 + 1e-4])) == (0, 1)
    assert judged_by(3, apart([*near, 0.5 * FAR_FROM_ALL * 1e-4])) == (0, 1, 2)


def test_what_could_not_be_judged_singles_nobody_out() -> None:
    found = apart([0, 1e-7, 0.5]) | {(1, 2): Apart(INCONCLUSIVE, 0.0)}
    assert judged_by(3, found) == (0, 1, 2)


def test_what_is_past_its_tolerance_by_little_singles_nobody_out() -> None:
    found = apart([0, 0, 2e-6])
    assert judged_by(3, found) == (0, 1)
    close = {pair: Apart(item.outcome, item.relative, close=item.outcome == DIFFERS) for pair, item in found.items()}
    assert judged_by(3, close) == (0, 1, 2)


def test_a_candidate_must_agree_with_every_reference() -> None:
    assert by_all([0, 9e-7], 5e-7) == AGREES
    assert by_all([0, 9e-7], 2.5e-6) == DIFFERS
    assert by_all([0, 9e-7], 1.5e-6) == REFERENCES_DIFFER, (
        "it agrees with one of them, and is as near to it as the other"
    )
    assert by_all([0, 1e-4], 5e-5) == REFERENCES_DIFFER
    assert by_all([0, 1e-4], 1e-4) == REFERENCES_DIFFER, "it is as one of them"
    assert by_all([0, 1e-4], 1e-3) == DIFFERS
    assert by_all([0, 0, 1], 1) == DIFFERS, "as the one that is singled out"


def whole(off: int, relative: float, dtype: str = "int64") -> CaseVerdict:
    """Compare whole numbers, of which so many are others."""
    found = case(relative, DIFFERS if off else AGREES, "exact")
    leaf = msgspec.structs.replace(
        found.leaves[0], gold_dtype=dtype, mismatched=off, problem="values" if off else "", excess=math.inf * bool(off)
    )
    return msgspec.structs.replace(found, leaves=(leaf,), natural=(leaf,))


def test_how_near_an_index_is_means_nothing() -> None:
    """It is right only if each is that of one of two references that differ."""
    for dtype in ("int64", "str", "bool"):
        between = {(0, 1): whole(3, 0.9, dtype)}
        assert judge_by_all({0: whole(5, 1e-3, dtype), 1: whole(5, 1e-3, dtype)}, between) == DIFFERS
        assert judge_by_all({0: whole(2, 0.5, dtype), 1: whole(1, 0.5, dtype)}, between) == REFERENCES_DIFFER
        assert judge_by_all({0: whole(0, 0.0, dtype), 1: whole(3, 0.9, dtype)}, between) == REFERENCES_DIFFER
        assert judge_by_all({0: whole(1, 0.0, dtype), 1: whole(1, 0.0, dtype)}, {(0, 1): whole(0, 0.0)}) == DIFFERS


def test_a_sharper_comparison_is_not_excused_by_a_coarser_one() -> None:
    """Two references agree in float32 where one cannot run in float64; the other shows a bug of the candidate there."""
    between = {(0, 1): case(1e-6, AGREES, "float32")}
    assert judge_by_all({0: case(1e-7, AGREES, "float32"), 1: case(5e-7, DIFFERS, "float64")}, between) == DIFFERS


@given(st.lists(st.sampled_from([0.0, 5e-7, 1e-6, 1e-4, 2e-4, 1e-2, 0.5]), min_size=2, max_size=5), st.data())
def test_order_changes_nothing_and_doubt_is_no_pass(places: list[float], data: st.DataObject) -> None:
    candidate = data.draw(st.sampled_from([0.0, 5e-7, 1.5e-4, 3e-3, 0.5, 2.0]))
    order = data.draw(st.permutations(range(len(places))))
    again = [places[number] for number in order]
    kept = {places[number] for number in judged_by(len(places), apart(places))}
    assert kept == {again[number] for number in judged_by(len(places), apart(again))}
    outcome = by_all(places, candidate)
    assert outcome == by_all(again, candidate)
    assert (outcome == AGREES) == all(abs(place - candidate) <= NOISE for place in kept)

"""Who is wrong is found by putting the solution's parts in the place of others: the fewest that make all right."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from goldsmith.judge.corrections import Correction, smallest_correction

PARTS = st.sets(st.sampled_from("ABCDEFGH"), min_size=1)
CASES = st.dictionaries(st.sampled_from("abcdefgh"), PARTS, min_size=1)


class World:
    """A submission in which some parts are wrong: a case agrees if those that it runs are the solution's."""

    def __init__(self, cases: dict[str, set[str]], wrong: set[str]) -> None:
        self.failing = {name: sorted(parts) for name, parts in cases.items() if parts & wrong}
        self.wrong = wrong
        self.trials = 0

    def trial(self, parts: frozenset[str], cases: Collection[str]) -> frozenset[str]:
        self.trials += 1
        return frozenset(name for name in cases if self.wrong.intersection(self.failing[name]) <= parts)

    def search(
        self, blamed: Collection[str] = (), cleared: Collection[str] = (), seen: Collection[str] = ()
    ) -> Correction | None:
        return smallest_correction(self.failing, blamed, cleared, self.trial, seen)


@given(CASES, PARTS, PARTS, PARTS)
def test_exactly_the_wrong_parts_are_found_whoever_was_blamed_before(
    cases: dict[str, set[str]], wrong: set[str], blamed: set[str], cleared: set[str]
) -> None:
    world = World(cases, wrong)
    found = world.search(blamed, cleared - wrong, seen=wrong)
    at_work = {part for parts in world.failing.values() for part in parts} & wrong
    assert found == (Correction(frozenset(at_work), frozenset(at_work), frozenset(world.failing)) if at_work else None)


@given(CASES, PARTS, PARTS, PARTS)
def test_right_answers_in_the_place_of_any_part_make_no_innocent_one_guilty(
    cases: dict[str, set[str]], wrong: set[str], blamed: set[str], cleared: set[str]
) -> None:
    found = World(cases, wrong).search(blamed, cleared)
    assert found is None or found.wrong <= found.parts <= wrong


@given(CASES, PARTS, PARTS, PARTS, st.randoms(use_true_random=False))
def test_the_order_of_cases_and_of_parts_changes_nothing(
    cases: dict[str, set[str]], wrong: set[str], blamed: set[str], cleared: set[str], random: object
) -> None:
    one, two = World(cases, wrong), World(cases, wrong)
    names = list(two.failing)
    random.shuffle(names)  # type: ignore[attr-defined]
    two.failing = {name: random.sample(two.failing[name], len(two.failing[name])) for name in names}  # type: ignore[attr-defined]
    assert one.search(blamed, cleared) == two.search(sorted(blamed, reverse=True), sorted(cleared))


@given(CASES, PARTS)
def test_one_trial_is_enough_where_the_right_part_is_blamed(cases: dict[str, set[str]], wrong: set[str]) -> None:
    wrong = set(sorted(wrong)[:1])
    world = World(cases, wrong)
    if world.failing:
        assert world.search(wrong) is not None
        assert world.trials == 1


def test_a_part_that_is_tied_to_a_wrong_one_is_not_called_wrong() -> None:
    """Two parts call each other in another way than the solution's: only both together can be replaced."""

    def trial(parts: frozenset[str], cases: Collection[str]) -> frozenset[str]:
        return frozenset(cases) if {"A", "B"} <= parts else frozenset()

    found = smallest_correction({"whole": ["A", "B", "C"]}, ["A"], ["C"], trial, seen=["A"])
    assert found == Correction(frozenset("AB"), frozenset("A"), frozenset({"whole"}))


def test_of_two_that_fit_only_each_other_neither_is_called_wrong_if_neither_was_seen_to_be() -> None:
    def trial(parts: frozenset[str], cases: Collection[str]) -> frozenset[str]:
        return frozenset(cases) if {"A", "B"} <= parts else frozenset()

    found = smallest_correction({"whole": ["A", "B", "C"]}, ["A"], ["C"], trial)
    assert found == Correction(frozenset("AB"), frozenset(), frozenset({"whole"}))


def test_nothing_is_said_where_not_even_all_parts_of_the_solution_make_it_right() -> None:
    assert smallest_correction({"whole": ["A", "B"]}, ["A"], [], lambda parts, cases: frozenset()) is None

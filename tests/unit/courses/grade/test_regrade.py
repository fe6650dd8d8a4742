"""What moved points, by verdicts made by hand: reasons add up, name what changed, and are told apart if they can be."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.courses.grade.grader import Judged
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.ingredients import Ingredients
from goldsmith.courses.grade.moves import Moved, moved_sentence, moved_words
from goldsmith.courses.grade.regrade import Regrade, Since
from goldsmith.courses.grade.rubric import Rubric
from goldsmith.courses.grade.run_record import Entry, RunRecord
from goldsmith.generate.cache_key import content_key
from goldsmith.judge.verdicts import Verdict
from support.made_verdicts import CASES, case, rubric, verdict

RUBRICS = (rubric(cases={"whole": 2, "norm": 1}), rubric(cases={"whole": 1, "norm": 3, "loss": 1}))
verdicts = st.lists(st.sampled_from(["agrees", "differs"]), min_size=4, max_size=4)


def ingredients(gold: str) -> Ingredients:
    same = dict.fromkeys(("goldsmith", "recipe", "solution", "starter", "adapter", "settings", "sandbox"), "same")
    return Ingredients(gold=gold, values=gold, tolerances="same", packages=(), options={}, **same)


def verdict_of(outcomes: list[str]) -> Verdict:
    return verdict(*(case(name, outcome) for name, outcome in zip(CASES, outcomes, strict=True)))


def record(found: Verdict, points: Rubric, gold: str, digest: str, moved: Moved | None = None) -> RunRecord:
    entry = Entry(coded_name=b"ada").with_result(Judged(verdict=found, digest=digest))
    return RunRecord(
        assignment="hw1",
        ingredients=ingredients(gold),
        rubric=points,
        forbidden_costs=0.0,
        private_files=(),
        private_lines=(),
        entries=(msgspec.structs.replace(entry, moved=moved),),
    )


def move(
    then: RunRecord, now: RunRecord, cached: Mapping[str, Verdict] | None = None, *, never_lower: bool = False
) -> Moved | None:
    known = {key: Judged(verdict=found) for key, found in (cached or {}).items()}
    regrade = Regrade(Since(then, "before", known.get, never_lower), now)
    entry = now.entries[0]
    judged = now.judged(entry)
    made = grade(judged.verdict, now.rubric)
    told = regrade.with_move(made, entry, judged)
    assert (told.moved is None) == (told == made)
    return told.moved


@given(verdicts, verdicts, st.sampled_from(RUBRICS), st.sampled_from(RUBRICS), st.booleans(), st.booleans())
def test_reasons_add_up_and_name_what_changed(
    one: list[str], two: list[str], rubric_1: Rubric, rubric_2: Rubric, other_gold: bool, other_file: bool
) -> None:
    then = record(verdict_of(one), rubric_1, "gold", "file")
    now = record(verdict_of(two), rubric_2, "new" if other_gold else "gold", "new" if other_file else "file")
    found = move(then, now)
    before, after = (
        {it.name: it.earned for it in grade(verdict_of(v), r).items} for v, r in ((one, rubric_1), (two, rubric_2))
    )
    names = {name for name in before | after if before.get(name, 0.0) != after.get(name, 0.0)}
    assert {item.name for item in found.items} == names if found else not names
    if found is None:
        return
    assert sum(item.points for item in found.because) == pytest.approx(found.now - found.was)
    changed = {"gold"} if other_gold else set()
    changed |= {"submission"} if other_file else set()
    changed |= {"rubric"} if rubric_1 is not rubric_2 else set()
    changed |= {"run"} if not (other_gold or other_file) and one != two else set()
    assert {cause for item in found.because for cause in item.causes} <= changed
    assert moved_words(found)
    assert moved_sentence(found, 6.0).endswith(".")


@given(verdicts, verdicts, verdicts, st.booleans())
def test_with_a_verdict_on_one_without_the_other_they_are_told_apart(
    old: list[str], new: list[str], between: list[str], by_gold: bool
) -> None:
    then, now = record(verdict_of(old), RUBRICS[0], "gold", "file"), record(verdict_of(new), RUBRICS[0], "new", "edit")
    gold, digest = (now.ingredients, "file") if by_gold else (then.ingredients, "edit")
    found = move(then, now, {content_key([gold.key, digest, ()]): verdict_of(between)})
    if found is not None:
        assert all(len(item.causes) == 1 for item in found.because)
        assert sum(item.points for item in found.because) == pytest.approx(found.now - found.was)


@given(verdicts, verdicts, st.sampled_from(RUBRICS), st.sampled_from(RUBRICS))
def test_never_lower_gives_no_more_than_can_be_earned_and_no_less_than_before(
    one: list[str], two: list[str], rubric_1: Rubric, rubric_2: Rubric
) -> None:
    then, now = record(verdict_of(one), rubric_1, "gold", "file"), record(verdict_of(two), rubric_2, "new", "file")
    found = move(then, now, never_lower=True)
    if found is not None:
        possible = sum(item.points for item in rubric_2.items)
        assert min(found.was, possible) <= found.score <= possible
        assert found.kept == (found.score > found.now)


def test_an_error_of_ours_is_the_reason_and_nothing_else() -> None:
    failed = verdict(*(case(name, "error", kind="error", reason="ours") for name in CASES))
    found = move(record(verdict_of(["agrees"] * 4), RUBRICS[0], "gold", "f"), record(failed, RUBRICS[0], "new", "f"))
    assert found is not None
    assert [item.causes for item in found.because] == [("error",)]

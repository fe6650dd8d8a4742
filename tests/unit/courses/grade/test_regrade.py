"""What moved points, by verdicts made by hand: reasons add up, name what changed, and are told apart if they can be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldsmith.courses.grade.class_results import ResultOptions, write_again
from goldsmith.courses.grade.grader import Judged
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.ingredients import Ingredients
from goldsmith.courses.grade.moves import Because, Moved, ledger_lines, moved_sentence, moved_words
from goldsmith.courses.grade.regrade import Regrade, Since
from goldsmith.courses.grade.rubric import Rubric
from goldsmith.courses.grade.run_record import Entry, RunRecord
from goldsmith.generate.cache_key import content_key
from goldsmith.html_report.class_page import ClassPages
from goldsmith.judge.verdicts import Verdict
from support.made_verdicts import CASES, case, rubric, verdict

RUBRICS = (rubric(cases={"whole": 2, "norm": 1}), rubric(cases={"whole": 1, "norm": 3, "loss": 1}))
verdicts = st.lists(st.sampled_from(["agrees", "differs"]), min_size=4, max_size=4)


def ingredients(gold: str) -> Ingredients:
    same = dict.fromkeys(("goldsmith", "recipe", "solution", "starter", "adapter", "settings", "sandbox"), "same")
    return Ingredients(gold=gold, values=gold, tolerances="same", packages=(), options={}, **same)


def verdict_of(outcomes: list[str]) -> Verdict:
    return verdict(*(case(name, outcome) for name, outcome in zip(CASES, outcomes, strict=True)))


def record(
    found: Verdict, points: Rubric, gold: str, digest: str, moved: Moved | None = None, name: bytes = b"ada"
) -> RunRecord:
    entry = Entry(coded_name=name).with_result(Judged(verdict=found, digest=digest))
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
        assert found.kept == (found.score > found.now) == (found.was > found.now and rubric_1 is rubric_2)
        assert found.score == (found.was if found.kept else found.now)
        assert found.score <= sum(item.points for item in rubric_2.items)


def test_an_error_of_ours_is_the_reason_and_nothing_else() -> None:
    failed = verdict(*(case(name, "error", kind="error", reason="ours") for name in CASES))
    found = move(record(verdict_of(["agrees"] * 4), RUBRICS[0], "gold", "f"), record(failed, RUBRICS[0], "new", "f"))
    assert found is not None
    assert [item.causes for item in found.because] == [("error",)]


AGREES, DIFFERS = ["agrees"] * 4, ["differs", "agrees", "agrees", "agrees"]
EVEN = rubric(cases={"whole": 1, "norm": 1})
NORM_WRONG = ["agrees", "differs", "agrees", "agrees"]


def kept_in(found: Moved | None) -> Moved:
    assert found is not None
    assert found.kept
    return found


@given(verdicts, verdicts, verdicts, verdicts)
@example(NORM_WRONG, DIFFERS, NORM_WRONG, NORM_WRONG)
def test_changes_that_move_nothing_alone_are_told_in_their_order(
    old: list[str], new: list[str], by_gold: list[str], by_file: list[str]
) -> None:
    then, now = record(verdict_of(old), EVEN, "gold", "file"), record(verdict_of(new), EVEN, "new", "edit")
    known = {(now.ingredients.key, "file"): by_gold, (then.ingredients.key, "edit"): by_file}
    cached = {content_key([key, digest, ()]): verdict_of(found) for (key, digest), found in known.items()}
    found = move(then, now, cached)
    if found is not None:
        assert found.because
        assert sum(item.points for item in found.because) == pytest.approx(found.now - found.was)
        assert ", since " in moved_sentence(found, 2.0)


def test_without_a_reason_points_are_told_all_the_same() -> None:
    found = Moved(was=2.0, of=2.0, now=1.0, score=1.0)
    assert (moved_words(found), moved_sentence(found, 2.0)) == ("2 to 1", "Your points went from 2 to 1 of 2.")


def test_one_point_is_kept_in_the_singular() -> None:
    found = Moved(was=1.0, of=2.0, now=0.0, score=1.0, kept=True, because=(Because(causes=("gold",), points=-1.0),))
    assert moved_sentence(found, 2.0) == "You keep 1 point of an earlier run: this one gives 0, since the gold changed."


def test_a_failure_in_telling_what_moved_leaves_the_verdict_as_it_is(tmp_path: Path) -> None:
    def fails(key: str) -> None:
        raise IndexError("no such reason")

    then, now = record(verdict_of(DIFFERS), EVEN, "gold", "file"), record(verdict_of(AGREES), EVEN, "new", "edit")
    found = write_again(now, ResultOptions(tmp_path, since=Since(then, "before", fails)))
    assert [(item.outcome, item.score, item.moved) for item in found.grades] == [("agrees", 2.0, None)]
    assert any("could not tell how the points of ada moved (no such reason)" in note for note in found.overview.notes)


def test_files_that_several_have_make_nobody_another_s_and_points_stay_with_a_name() -> None:
    then = record(verdict_of(AGREES), EVEN, "gold", "file", name=b"ada")
    now = record(verdict_of(DIFFERS), EVEN, "new", "file", name=b"bob")
    one = now.entries[0]
    other = msgspec.structs.replace(one, coded_name=b"cy")
    for entries, renamed in (((one,), (("bob", "ada"),)), ((one, other), ())):
        run = msgspec.structs.replace(now, entries=entries)
        regrade = Regrade(Since(then, "before", never_lower=True), run)
        judged = [run.judged(entry) for entry in entries]
        told = [
            regrade.with_move(grade(found.verdict, EVEN), entry, found)
            for entry, found in zip(entries, judged, strict=True)
        ]
        ledger = regrade.ledger(told)
        assert [item.score for item in told] == [1.0] * len(entries)
        assert (ledger.renamed, ledger.kept) == (renamed, ())
        assert ledger.not_kept == (("bob",) if renamed else ())
        assert any("Better points are not kept" in line for line in ledger_lines(ledger)) == bool(renamed)


def test_points_of_a_rubric_with_another_total_are_not_kept() -> None:
    large = rubric(cases={"whole": 5, "norm": 5})
    then, now = record(verdict_of(DIFFERS), large, "gold", "file"), record(verdict_of(DIFFERS), EVEN, "new", "file")
    found = move(then, now, never_lower=True)
    assert found is not None
    assert (found.was, found.now, found.score, found.kept) == (5.0, 1.0, 1.0, False)


def test_of_kept_points_everything_is_told_since_the_run_that_gave_them() -> None:
    """The gold made `whole` wrong, then `norm`; then `norm` alone was put right."""
    first = record(verdict_of(AGREES), EVEN, "gold", "file")
    second = record(verdict_of(DIFFERS), EVEN, "new", "file")
    once = kept_in(move(first, second, never_lower=True))
    both = ["differs", "differs", "agrees", "agrees"]
    third = record(verdict_of(both), EVEN, "newer", "file")
    second = record(verdict_of(DIFFERS), EVEN, "new", "file", once)
    twice = kept_in(move(second, third, never_lower=True))
    assert [(item.name, item.was, item.now) for item in twice.items] == [("whole", 1.0, 0.0), ("norm", 1.0, 0.0)]
    assert twice.because == (Because(causes=("gold",), points=-2.0),)
    third = record(verdict_of(both), EVEN, "newer", "file", twice)
    last = kept_in(move(third, record(verdict_of(DIFFERS), EVEN, "newest", "file"), never_lower=True))
    assert [(item.name, item.was, item.now) for item in last.items] == [("whole", 1.0, 0.0)]
    assert last.because == (Because(causes=("gold",), points=-1.0),)
    assert move(third, record(verdict_of(AGREES), EVEN, "newest", "file")) is None, "all is as it was"


def test_points_that_rise_above_those_that_were_kept_did_not_fall_for_being_kept() -> None:
    first = record(verdict_of(DIFFERS), EVEN, "gold", "file")
    second = record(verdict_of(["differs"] * 4), EVEN, "new", "file")
    once = kept_in(move(first, second, never_lower=True))
    second = record(verdict_of(["differs"] * 4), EVEN, "new", "file", once)
    for never_lower in (False, True):
        found = move(second, record(verdict_of(AGREES), EVEN, "newer", "file"), never_lower=never_lower)
        assert found is not None
        assert (found.was, found.score, found.kept) == (1.0, 2.0, False)
        assert found.because == (Because(causes=("gold",), points=1.0),)


def test_names_that_look_alike_lead_to_their_own_pages(tmp_path: Path) -> None:
    """Two names that differ in white space alone, and whose points both moved."""
    runs = []
    for outcomes, gold in ((AGREES, "gold"), (DIFFERS, "new")):
        made = record(verdict_of(outcomes), EVEN, gold, "file")
        entries = [msgspec.structs.replace(made.entries[0], coded_name=name) for name in (b"a b", b"a\nb")]
        runs.append(msgspec.structs.replace(made, entries=tuple(entries)))
    found = write_again(runs[1], ResultOptions(tmp_path, pages=ClassPages(), since=Since(runs[0], "before")))
    pages = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "feedback").glob("*.html"))
    assert len({item.name for item in found.grades}) == 1
    shared = (
        (tmp_path / "class.html").read_text().partition("Mistakes, and who shares them")[2].partition("</table>")[0]
    )
    for text in ((tmp_path / "moved.html").read_text(), shared):
        assert sorted(re.findall(r'href="(feedback/[^"#]*)"', text)) == pages

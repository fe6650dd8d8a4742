"""`goldsmith test`: the verdict on internal tests, which must pass on the solution and fail on the starter."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from goldsmith.courses.internal_tests.run_pytest import Side, run_sides
from goldsmith.courses.internal_tests.suite_result import Counts, SuiteReport, TestOutcome, tests_of
from goldsmith.courses.layout.journal import read_journal
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.base import AGAINST, COULD_NOT_RUN, GoldsmithError
from goldsmith.errors.injection import IsInjected
from goldsmith.errors.internal_tests import PytestMissing
from goldsmith.foundation.wording import and_more, count_of
from goldsmith.generate.freshness import Freshness, freshness
from goldsmith.process.progress import Progress

PASSED, FAILED, NOT_RUN = "passed", "failed", "could-not-run"
_EXIT_CODES = {PASSED: 0, FAILED: AGAINST, NOT_RUN: COULD_NOT_RUN}


class SideCounts(msgspec.Struct, frozen=True):
    """One side in numbers; `problem` says why it could not be run to its end."""

    total: int = 0
    """How many tests."""
    passed: int = 0
    """How many passed."""
    failed: int = 0
    """How many failed."""
    skipped: int = 0
    """How many were skipped."""
    categories: dict[str, Counts] = {}
    """The same by category."""
    problem: str = ""
    """Why they could not be run to their end; empty if they were."""
    seconds: float = 0.0
    """How long it took."""

    @classmethod
    def of(cls, suite: SuiteReport) -> SideCounts:
        counts = suite.counts
        return cls(
            total=counts.total,
            passed=counts.passed,
            failed=counts.failed,
            skipped=counts.skipped,
            categories=suite.categories(),
            problem=suite.problem,
            seconds=round(suite.seconds, 3),
        )


class Noticed(msgspec.Struct, frozen=True):
    """A test that failed on the solution, or was skipped or deselected `on` the solution or the starter."""

    test: str
    """The test."""
    reason: str
    """Why, in words."""
    where: str
    """File and line."""
    category: str
    """Its first category."""
    on: str = "solution"
    """`solution` or `starter`."""
    deselected: bool = False
    """Whether it was deselected, and not skipped."""

    @classmethod
    def of(cls, test: TestOutcome, on: str = "solution") -> Noticed:
        return cls(test.test, test.reason, test.where, test.category, on, test.deselected)


class Obstacle(msgspec.Struct, frozen=True):
    """What kept an assignment's tests from being run at all."""

    kind: str
    """A stable word for what went wrong; see the [exit codes](exit-codes.md)."""
    message: str
    """The sentence that people get."""


class InternalVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the internal tests of one assignment are worth.

    `blind` are tests that pass on the starter, too; `headline` is the verdict in one sentence, `advice` what to do.
    """

    name: str
    """The assignment."""
    outcome: str
    """`passed`, `failed` or `could-not-run`."""
    headline: str
    """The verdict in one sentence."""
    solution: SideCounts = SideCounts()
    """The tests on the solution, in numbers."""
    starter: SideCounts = SideCounts()
    """The tests on the starter, in numbers."""
    failures: tuple[Noticed, ...] = ()
    """Tests that fail on the solution."""
    skipped: tuple[Noticed, ...] = ()
    """Tests that were skipped or deselected."""
    blind: tuple[str, ...] = ()
    """Tests that pass on the starter, too."""
    gold: str = ""
    """What is to be said about the gold; empty where it is fresh."""
    notes: tuple[str, ...] = ()
    """What is worth knowing."""
    advice: tuple[str, ...] = ()
    """What to do."""
    selection: str = ""
    """What `-k` said."""
    report: str = ""
    """The text that was kept; empty where none was."""
    junit: str = ""
    """The JUnit XML that was kept; empty where none was."""
    error: Obstacle | None = None
    """Why nothing could be run; null where it could."""
    exit_code: int = 0
    """The exit code of this assignment alone."""
    seconds: float = 0.0
    """How long it took."""


@dataclass(frozen=True)
class Tried:
    """A verdict with the runs it is based on; a side is None where nothing was run."""

    assignment: Assignment
    verdict: InternalVerdict
    solution: Side | None = None
    starter: Side | None = None


def try_internal_tests(assignment: Assignment, *, timeout: float, select: str = "", progress: Progress) -> Tried:
    """Run an assignment's internal tests on both sides and judge.

    An error about this assignment becomes its verdict, so that others go on.
    """
    began = time.monotonic()
    try:
        journal = read_journal(assignment.course, assignment.name)
        if journal is not None:
            raise IsInjected(assignment.name, journal.since)
        chosen = tests_of(assignment)
        gold = freshness(resolve(assignment))
        solution, starter = run_sides(assignment, chosen, timeout=timeout, select=select, progress=progress)
    except PytestMissing:
        raise
    except GoldsmithError as error:
        verdict = InternalVerdict(
            name=assignment.name,
            outcome=NOT_RUN,
            headline=f"could not run: {error}",
            selection=select,
            error=Obstacle(error.kind, str(error)),
            exit_code=error.exit_code,
            seconds=round(time.monotonic() - began, 3),
        )
        return Tried(assignment, verdict)
    verdict = judge(assignment.name, solution.report, starter.report, gold, select)
    seconds = round(time.monotonic() - began, 3)
    return Tried(assignment, msgspec.structs.replace(verdict, seconds=seconds), solution, starter)


def judge(name: str, solution: SuiteReport, starter: SuiteReport, gold: Freshness, select: str = "") -> InternalVerdict:
    """Return the verdict from the outcomes on both sides."""
    outcome, headline = _outcome(solution, starter)
    if outcome == PASSED and gold.outcome == "stale":
        headline = f"passed, but {_gold(gold, 'the')}; {headline}"
    passes = {test.test for test in solution.tests if test.passed}
    away = {test.test for test in solution.tests if test.skipped}
    verdict = InternalVerdict(
        name=name,
        outcome=outcome,
        headline=headline,
        solution=SideCounts.of(solution),
        starter=SideCounts.of(starter),
        failures=tuple(Noticed.of(test) for test in solution.tests if test.failed),
        skipped=(
            *(Noticed.of(test) for test in solution.tests if test.skipped),
            *(
                Noticed.of(test, "starter")
                for test in starter.tests
                if test.skipped and (test.test in passes or (test.file and test.test not in away))
            ),
        ),
        blind=tuple(test.test for test in starter.tests if test.passed and test.test in passes),
        gold=f"{_gold(gold)}." if _gold(gold) else "",
        notes=tuple(_notes(solution, starter)),
        selection=select,
        exit_code=_EXIT_CODES[outcome],
    )
    return msgspec.structs.replace(verdict, advice=tuple(_advice(verdict, gold)))


def _outcome(solution: SuiteReport, starter: SuiteReport) -> tuple[str, str]:
    """Return outcome and headline; a failure on the solution counts before a problem on the starter."""
    right, wrong = solution.counts, starter.counts
    if solution.problem or (right.failed == right.total == _whole_files(solution)):
        return NOT_RUN, f"could not run on the solution: {solution.problem or _not_collected(solution)}"
    if right.failed:
        return FAILED, f"{_share(right.failed, right.total, 'fail', 'fails')} on the solution"
    hidden = [test for test in solution.tests if test.hides_fidelity]
    if hidden:
        files = sum(test.file for test in hidden)
        what = _tests(len(hidden), "fidelity ") if not files else count_of(files, "whole test file")
        was = _verb(files or len(hidden), "were", "was")
        away = _away(hidden)
        this = "a skip" if away == "skipped" else "what does not run"
        return FAILED, f"{what} {was} {away} on the solution, and {this} is not a pass"
    if not right.passed:
        were = "it was" if right.total == 1 else f"{_all(right.total)} were"
        return FAILED, f"no internal test passes on the solution: {were} {_away(solution.tests)}"
    if starter.problem:
        return NOT_RUN, f"could not run on the starter: {starter.problem}"
    if not wrong.failed:
        return FAILED, f"no internal test fails on the starter{_numbers_away(starter)}: empty work would get full marks"
    passes = f"{_share(right.passed, right.total, 'pass', 'passes')} on the solution{_numbers_away(solution)}"
    if _whole_files(starter) == wrong.total:
        return PASSED, f"{passes}, and the starter cannot even be imported"
    if right.total == wrong.total == 1:
        return PASSED, f"{passes} and fails on the starter"
    fails = _all(wrong.total) if wrong.failed == wrong.total else f"{wrong.failed} of {wrong.total}"
    return PASSED, f"{passes}, {fails} {_verb(wrong.failed, 'fail', 'fails')} on the starter"


def _share(count: int, total: int, many: str, one: str) -> str:
    if total == 1:
        return f"the only internal test {one}"
    of = _all(total) if count == total else f"{count} of {total}"
    return f"{of} internal tests {_verb(count, many, one)}"


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _numbers_away(suite: SuiteReport) -> str:
    deselected = sum(test.deselected for test in suite.tests)
    numbers = {"skipped": suite.counts.skipped - deselected, "deselected": deselected}
    counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
    return f" ({counts})" if counts else ""


def _away(tests: Sequence[TestOutcome]) -> str:
    """Say how tests that did not run went missing: skipped, deselected, or both."""
    words = {"deselected" if test.deselected else "skipped" for test in tests if test.skipped}
    return " or ".join(sorted(words, reverse=True))


def _whole_files(suite: SuiteReport) -> int:
    return sum(test.file and test.failed for test in suite.tests)


def _not_collected(suite: SuiteReport) -> str:
    first = suite.tests[0] if suite.tests else None
    return f"{first.test} cannot be imported ({first.reason})" if first else "pytest found no test"


def _tests(count: int, kind: str = "internal ") -> str:
    return f"{count} {kind}test{'' if count == 1 else 's'}"


def _verb(count: int, many: str, one: str) -> str:
    return one if count == 1 else many


def _gold(gold: Freshness, the: str = "The") -> str:
    if gold.outcome not in ("stale", "missing"):
        return ""
    more = and_more(gold.reasons)
    return f"{the} gold is {gold.outcome}: {gold.reasons[0]}{more}"


def _notes(solution: SuiteReport, starter: SuiteReport) -> Iterator[str]:
    broken = {test.test for test in solution.tests if test.failed}
    for test in starter.tests:
        if test.file and test.failed and test.test not in broken:
            yield f"{test.test} cannot be imported on the starter ({test.reason}): that counts as failing, as a whole"
    if solution.unmarked:
        are = _verb(solution.unmarked, "are", "is")
        yield f"{_tests(solution.unmarked, '')} in the same files {are} not marked rigor and did not run"
    for file in dict.fromkeys((*solution.unread, *starter.unread)):
        yield f"pytest did not look into {file} (python_files, norecursedirs, --ignore or a conftest.py)"
    if starter.problem and not solution.problem:
        yield f"on the starter: {starter.problem}"


def _advice(verdict: InternalVerdict, gold: Freshness) -> Iterator[str]:
    name, failing = verdict.name, verdict.outcome == FAILED and bool(verdict.failures)
    if verdict.outcome == NOT_RUN and verdict.failures:
        yield f"Fix {verdict.failures[0].test}, or what it imports, first: without it no test runs."
    if verdict.gold:
        look = (
            f"See what would change, `goldsmith diff {name}`; if you want that, m" if gold.outcome == "stale" else "M"
        )
        likely = "; a failing test is most likely about that" if failing else ""
        yield f"{look}ake the gold: `goldsmith generate {name}`{likely}."
    if failing and not verdict.gold:
        yield f"Does the solution still give its gold? `goldsmith diff {name}` says so; if it does, the test is wrong."
        file, _, test = verdict.failures[0].test.partition("::")
        only = f" -k {test.partition('[')[0].rpartition('::')[2]}" if test else ""
        by_hand = f"`goldsmith inject {name}`, then `pytest {file} -m rigor{only}`, then `goldsmith reset {name}`"
        yield f"To run one by hand: {by_hand}."
    if any(item.deselected for item in verdict.skipped):
        yield "Let pytest run what is deselected: see its settings (addopts, python_functions) and each conftest.py."
    skipped_on = {item.on for item in verdict.skipped if not item.deselected}
    if "solution" in skipped_on:
        yield "Fix what makes a test skip (an import, a missing file, an except that skips), or remove the test."
    if "starter" in skipped_on:
        yield "Let tests fail, not skip, where work is missing: a skip takes no marks from empty work."
    if verdict.blind:
        yield "Let each test run what students write: on the starter that raises, and what it raises must reach pytest."

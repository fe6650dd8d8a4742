"""What a submission's replays have shown, before it was given anything of gold's but inputs and weights.

From here on, parts that are in doubt are called alone on gold's own inputs, which are other parts' answers, and run
beside the solution's code. Where many submissions are graded, everybody's cases are replayed first: what one is given
then comes too late for anybody's cases, and for what anybody's feedback shows.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.gold.load import Gold
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.verdicts import AGREES, CaseVerdict
from goldsmith.runs.run import CaseRuns, Run, RunFacts


class _Runs(msgspec.Struct, frozen=True):
    """What is still needed of a case's runs: what they were like, and the trace of a case that is not right."""

    facts: dict[str, RunFacts]
    trace: bytes | None

    @classmethod
    def of(cls, runs: CaseRuns, verdict: CaseVerdict) -> _Runs:
        facts = {name: msgspec.structs.replace(run.facts, notes=(), coverage=None) for name, run in runs.runs.items()}
        trace = None if runs.trace is None or verdict.outcome == AGREES else bytes(runs.trace)
        return cls(facts, trace)

    def restored(self) -> CaseRuns:
        runs = {name: Run(facts) for name, facts in self.facts.items()}
        if self.trace is not None:
            last = next(reversed(runs))
            runs[last] = Run(runs[last].facts, trace=memoryview(self.trace))
        return CaseRuns(runs)


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on a submission's cases, and what it takes to find out which parts are to blame.

    runs:       of each case, without what was recorded
    layouts:    in which cases are right that are not right in the plain one
    staffs:     sentences for staff on cases that the course's own code could not run; `excused` are those cases as
                they were before
    changed:    provided code that had to be restored, or that was changed, and of that what is `untried`
    used:       seconds that its runs have taken so far, as a `Clock` counts them, and on the wall clock
    """

    verdicts: dict[str, CaseVerdict]
    runs: dict[str, _Runs] = {}
    layouts: dict[str, str] = {}
    staffs: tuple[str, ...] = ()
    excused: tuple[CaseVerdict, ...] = ()
    changed: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    sightings: tuple[tuple[str, str], ...] = ()
    unfinished: tuple[str, ...] = ()
    used: tuple[float, float] = (0.0, 0.0)
    seconds: float = 0.0

    def case_runs(self) -> dict[str, CaseRuns]:
        return {name: runs.restored() for name, runs in self.runs.items()}


def kept(runs: Mapping[str, CaseRuns], verdicts: Mapping[str, CaseVerdict]) -> dict[str, _Runs]:
    """Return of the runs of all cases what is needed later."""
    return {name: _Runs.of(item, verdicts[name]) for name, item in runs.items()}


def is_replayed(content: bytes) -> bool:
    """Return whether this is an encoded `Replayed`."""
    try:
        msgspec.msgpack.decode(content, type=Replayed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def may_be_given_more(verdicts: Mapping[str, CaseVerdict], gold: Gold) -> bool:
    """Return whether a submission may still be given some of gold's intermediate values, or the solution's code: if a
    case does not agree, or there are parts that no case calls by itself."""
    if any(verdict.outcome != AGREES for verdict in verdicts.values()):
        return True
    entries = {entry.name: entry for entry in gold.manifest.cases if not entry.variant}
    return gold.manifest.is_of_a_course and bool(PartCoverage.of(entries, gold.folder).inner_parts)


def unfinished_imports(replays: Iterable[CaseRuns]) -> Iterator[str]:
    """Yield what is to be said of files that were used although their import did not come to its end. What an error is
    called is looked up among Python's own names, and is otherwise not told."""
    used = (runs.first for runs in replays if runs.first.failure is None)
    for failure in (failure for run in used for failure in run.facts.unfinished):
        error = getattr(builtins, failure.message, None)
        kind = error.__name__ if isinstance(error, type) and issubclass(error, BaseException) else "an error"
        for frame in failure.frames[:1]:
            where = f"{frame.file} raised {kind} in line {frame.line} while it was imported"
            yield f"{where}: what it had defined by then was used, and nothing that comes after"


prepare_types(Replayed)

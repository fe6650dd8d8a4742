"""Lead through the steps from cases that are not right to what is to blame: pair traces, judge calls, then blame.

The rules by which one thing is blamed and not another are in `judge/blame.py`.

Which functions and methods a case runs, and which of them a record comes from, is taken from gold's record
(`CaseEntry.runs`, `origins`), never from a submission's process.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.arrays import array_hash
from goldsmith.gold.trace_tensors import is_whole
from goldsmith.judge.blame import KINDS_WITHOUT_CULPRIT, OUTPUT_NOT_FOUND, Blame, is_against, is_sketched
from goldsmith.judge.call_limits import allow_rounding
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.localisation import (
    Isolate,
    IsolatedRuns,
    first_miss_by_value,
    judge_calls,
    judge_gradients,
    run_alone,
    source_at,
)
from goldsmith.judge.policy import CLEARLY
from goldsmith.judge.trace_pairs import TracePair, pair_traces
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    sources,
)
from goldsmith.runs.run import CaseRuns

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.gold.manifest import CaseEntry

_RIGHT = (AGREES, PROVIDED_CHANGED)


@dataclass
class Attribution:
    """Finds in the cases of one submission what is to blame, in steps between which more is run: their traces are
    paired, their calls judged, and then everything together. Gold's traces are in `folder`."""

    golds: Mapping[str, GoldCase]
    folder: Path
    verdicts: Mapping[str, CaseVerdict]
    replays: Mapping[str, CaseRuns]

    @functools.cached_property
    def shown(self) -> PartCoverage:
        return PartCoverage.of({name: gold.entry for name, gold in self.golds.items()}, self.folder)

    @functools.cached_property
    def pairs(self) -> dict[str, TracePair]:
        """Return gold's calls beside the submission's, by case, the cases that run the least first."""
        found: dict[str, TracePair] = {}
        right = any(item.outcome in _RIGHT for item in self.verdicts.values())
        for name in sorted(self.verdicts, key=self.shown.width):
            verdict = self.verdicts[name]
            if _can_be_seen(verdict, right):
                changes = _changes(verdict)
                pair = pair_traces(self.golds[name], self.folder, self.replays[name], of_another_run=changes)
                if pair is not None:
                    allow_rounding(pair, self.verdicts, self.shown)
                    found[name] = pair
        return found

    @property
    def ports(self) -> list[str]:
        """List the cases in which modules of gold's have no partner by name, so that their values are searched for."""
        return [n for n, pair in self.pairs.items() if self.verdicts[n].outcome == DIFFERS and pair.unpaired_in(None)]

    def run_alone(self, isolate: Isolate) -> IsolatedRuns:
        """Have calls made alone that the traces leave open."""
        cut_off = {name for name in self.pairs if self.verdicts[name].kind in CUT_OFF}
        return run_alone(isolate, self.pairs, cut_off=cut_off)

    def judge_calls(
        self, alone: IsolatedRuns, op_outputs: Mapping[str, Collection[Any]], isolate: Isolate
    ) -> dict[str, CaseVerdict]:
        """Return the verdicts with what is known of each call; `op_outputs` are those of operations in ports."""
        found = dict(self.verdicts)
        for name, pair in self.pairs.items():
            modules = judge_calls(pair, alone)
            if name in op_outputs:
                modules = _by_value(pair, modules, op_outputs[name])
            if found[name].outcome == DIFFERS and all(item.inferred for item in sources(modules)):
                modules += judge_gradients(isolate, pair)
            found[name] = msgspec.structs.replace(found[name], modules=tuple(modules))
        return found

    def attributed(self, judged: Mapping[str, CaseVerdict], alone: IsolatedRuns) -> dict[str, CaseVerdict]:
        """Return the verdicts with what goes wrong first in each, and what was not seen to be right."""
        extra = {name: replay.first.facts.extra for name, replay in self.replays.items()}
        blame = Blame(judged, self.shown, self.pairs, extra)
        found = {name: blame.attributed(verdict) for name, verdict in judged.items()}
        return {
            name: msgspec.structs.replace(
                verdict,
                their_names=_their_names(verdict, self.replays[name]),
                unseen=_unseen(verdict, self.pairs[name], self.golds[name].entry, self.shown)
                if name in alone.cases
                else (),
            )
            for name, verdict in found.items()
        }

    def unattributed(self, error: Exception) -> dict[str, CaseVerdict]:
        """Return the verdicts as they were, where an error of goldsmith's own kept it from finding out more: nothing in
        the failing cases counts as seen to be right."""
        note = f"goldsmith could not look for the part that is to blame ({type(error).__name__})"
        return {
            name: msgspec.structs.replace(case, unseen=self.shown.runs.get(name, ()), notes=(*case.notes, note))
            if is_against(case)
            else case
            for name, case in self.verdicts.items()
        }


def _unseen(verdict: CaseVerdict, pair: TracePair, entry: CaseEntry, shown: PartCoverage) -> tuple[str, ...]:
    """List what gold runs in a case and was not seen to be right in it, by what it returned there or alone. That its
    value was computed somewhere is not enough, for it may have been changed afterwards. Callers of what is to blame are
    not listed. If the case came out differently while it was traced, or the trace has a right answer where a wrong one
    was recorded, the trace clears nothing. If nobody is to blame because gold has only sketches, it may be any of them:
    what they pass back was not looked at."""
    blamed = list(sources(verdict.modules))
    if verdict.outcome == DIFFERS and not blamed and is_sketched(pair):
        return shown.runs.get(verdict.name, ())
    names = dict.fromkeys(call.name for call in pair.gold if call.own and call.tells and not call.drew)
    if all(item.inferred for item in blamed) and (_changes(verdict) or _contradicts(pair, verdict, entry)):
        return tuple(names)
    right = {item.callable for item in verdict.modules if item.outcome == AGREES and item.tells}
    silent = {item.callable for item in verdict.modules if item.outcome == COULD_NOT_RUN and item.alone}
    guilty = {item.callable for item in blamed}
    inner = [call for call in pair.gold if call.name in guilty]
    victims = {call.name for call in pair.gold if any(call.encloses(item) for item in inner)}
    return tuple(name for name in names if name not in (right - silent) | guilty | victims)


def _contradicts(pair: TracePair, verdict: CaseVerdict, entry: CaseEntry) -> bool:
    """Return whether a call that the trace shows to be right returned, for gold, what was recorded wrong here: by much
    more than a trace would miss."""
    leaves = [leaf for leaf in verdict.natural if not leaf.agrees]
    wrong = {leaf.path: leaf.relative if leaf.problem == "values" else math.inf for leaf in leaves}
    recorded = {item.sha256: wrong[item.path] for item in entry.tensors if item.path in wrong}
    right = (call for call in pair.gold if recorded and call.own and pair.outcome(call) == AGREES)
    return any(
        recorded.get(array_hash(output), 0.0) > CLEARLY * pair.limit(call)
        for call in right
        for output in call.outputs
        if is_whole(output)
    )


def _their_names(verdict: CaseVerdict, replayed: CaseRuns) -> dict[str, str]:
    """Map gold's names of wrong weights to the submission's, where that is one weight of another name."""
    wrong = [leaf.path for leaf in (*verdict.leaves, *verdict.natural) if not leaf.agrees]
    single = {
        gold[0]: theirs[0]
        for placed in replayed.first.facts.weight_map.values()
        for gold, theirs in placed
        if len(gold) == len(theirs) == 1 and gold != theirs
    }
    return {name: other for name, other in single.items() if any(path.endswith(f".{name}") for path in wrong)}


def _can_be_seen(verdict: CaseVerdict, others_right: bool) -> bool:
    """Return whether to look at the calls of a case: not if it differs by less than a trace in the case's own dtype
    could show, nor if its weights could not be loaded. A case that died, or that says something is not installed, may
    hide what is wrong with a part that other cases show to be right."""
    if verdict.outcome == DIFFERS:
        return not (verdict.judged_in == "float64" and all(leaf.agrees for leaf in verdict.natural))
    if verdict.outcome != COULD_NOT_RUN or verdict.kind == "weights":
        return False
    return others_right or verdict.kind not in (*CUT_OFF, *KINDS_WITHOUT_CULPRIT)


def _changes(verdict: CaseVerdict) -> bool:
    """Return whether a case came out differently in its second run, which is the one that is traced."""
    return verdict.kind in ("second-run", "uninitialised")


def _by_value(pair: TracePair, modules: list[ModuleVerdict], produced: Collection[Any]) -> list[ModuleVerdict]:
    """Add the first of gold's modules whose output is nowhere to be found, where too few names pair."""
    source = next(sources(modules), None)
    unpaired = pair.unpaired_in(source)
    if not unpaired:
        return modules
    call = first_miss_by_value(unpaired, list(produced))
    if call is None:
        return modules
    return [source_at(pair, call, OUTPUT_NOT_FOUND), *modules]

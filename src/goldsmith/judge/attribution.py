"""Find what is to blame for a case that is not right: a call by evidence, or a part by elimination.

Which functions and methods a case runs, and which of them a record comes from, is taken from gold's record
(`CaseEntry.runs`, `origins`), never from a submission's process.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.arrays import array_hash
from goldsmith.gold.payload import item_name
from goldsmith.gold.trace_tensors import is_whole
from goldsmith.judge.call_limits import allow_rounding
from goldsmith.judge.coverage import PartCoverage, part_of
from goldsmith.judge.localisation import (
    Isolate,
    IsolatedRuns,
    first_miss_by_value,
    judge_calls,
    judge_gradients,
    overwriting,
    run_alone,
    source_at,
    with_extra_weights,
)
from goldsmith.judge.policy import CLEARLY
from goldsmith.judge.trace_pairs import TracePair, pair_traces
from goldsmith.judge.traces import Call
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    OWN_WEIGHTS,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    sources,
)
from goldsmith.runs.run import CaseRuns

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.gold.manifest import CaseEntry

OUTPUT_NOT_FOUND = "what gold's returned is nowhere to be found"
"""The reason given for a module that has no partner, inside one that has: that one goes wrong there."""
_RIGHT = (AGREES, PROVIDED_CHANGED)
KINDS_WITHOUT_CULPRIT = ("weights", OWN_WEIGHTS, "import", "package")
"""Kinds of failure that say nothing about the code of any one part."""


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
            if _is_against(case)
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
    if verdict.outcome == DIFFERS and not blamed and _is_sketched(pair):
        return shown.runs.get(verdict.name, ())
    names = dict.fromkeys(call.name for call in pair.gold if call.own and call.tells and not call.drew)
    if all(item.inferred for item in blamed) and (_changes(verdict) or _contradicts(pair, verdict, entry)):
        return tuple(names)
    right = {item.callable for item in verdict.modules if item.outcome == AGREES and item.tells}
    silent = {item.callable for item in verdict.modules if item.outcome == COULD_NOT_RUN and item.alone}
    guilty = {item.callable for item in blamed}
    inner = [call for call in pair.gold if call.name in guilty]
    victims = {call.name for call in pair.gold if any(call.holds(item) for item in inner)}
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


def _is_against(verdict: CaseVerdict) -> bool:
    return verdict.outcome == DIFFERS or (
        verdict.outcome == COULD_NOT_RUN and verdict.kind not in KINDS_WITHOUT_CULPRIT
    )


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


@dataclass
class Blame:
    """All verdicts of one submission; finds for each failing case what goes wrong first."""

    verdicts: Mapping[str, CaseVerdict]
    shown: PartCoverage
    pairs: Mapping[str, TracePair]
    extra: Mapping[str, Mapping[str, Sequence[str]]]

    @functools.cached_property
    def seen(self) -> dict[str, list[ModuleVerdict]]:
        """Return, by case, what was seen to go wrong by itself. A call that contains one of which nothing is known
        here, and which goes wrong in another case, is left out: that one may be the cause."""
        found = {name: [it for it in sources(case.modules) if not it.inferred] for name, case in self.verdicts.items()}
        caught = {item.callable for items in found.values() for item in items if item.outcome == DIFFERS}
        return {
            name: [item for item in items if not self._held_by(item, name) & caught] for name, items in found.items()
        }

    def _held_by(self, source: ModuleVerdict, case: str) -> set[str]:
        """Return what a source calls and is not seen to be right."""
        pair = self.pairs.get(case)
        outer = [call for call in _calls(pair) if call.name == source.callable]
        right = {item.callable for item in self.verdicts[case].modules if item.outcome == AGREES}
        return {call.name for call in _calls(pair) if any(item.holds(call) for item in outer)} - right

    def attributed(self, verdict: CaseVerdict) -> CaseVerdict:
        """Blame by evidence; else what goes wrong in another case and runs in this one; else by inference."""
        if not _is_against(verdict):
            return verdict
        seen = self.seen.get(verdict.name, [])
        source = seen[0] if seen else self._caught_elsewhere(verdict) or self._clue(verdict)
        source = source or self._caller_of_shared(verdict)
        if source is None and not self._is_partial(verdict):
            likely = [it for it in sources(verdict.modules) if it.inferred and not self._is_cleared(it.callable)]
            source = next(iter(likely), None) or self._by_elimination(verdict)
        blamed = seen or ([source] if source else [])
        modules = [
            msgspec.structs.replace(item, source=False) if item.source and item not in blamed else item
            for item in verdict.modules
        ]
        modules += [item for item in blamed if item not in modules]
        if source is None:
            return msgspec.structs.replace(verdict, modules=tuple(modules))
        inside = next((item for item in verdict.modules if item.why == OUTPUT_NOT_FOUND), source)
        return msgspec.structs.replace(
            verdict, modules=tuple(modules), first_divergence=inside.label, first_part=source.kind
        )

    def _caught_elsewhere(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        if verdict.outcome != DIFFERS:
            return None
        inside = self._inside(verdict.name, self._roots(verdict))
        others = [item for case, items in self.seen.items() if case != verdict.name for item in items]
        caught = {item.callable for item in others if item.outcome == DIFFERS} | self._alone_in_a_case(verdict.name)
        name = next((name for name in inside if name in caught), None)
        return self._infer(verdict, name) if name else None

    def _alone_in_a_case(self, but: str) -> set[str]:
        """Return functions that are all that another failing case runs: nothing else can be to blame there."""
        wrong = [name for name, case in self.verdicts.items() if case.outcome == DIFFERS and name != but]
        return {self.shown.runs[name][0] for name in wrong if len(self.shown.runs.get(name, ())) == 1}

    def _caller_of_shared(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Return the caller that passes different arguments than gold's to a function which its own case shows to be
        right."""
        calls = list(_calls(self.pairs.get(verdict.name)))
        wrong = {_place(item): item for item in verdict.modules if item.outcome != AGREES and not item.alone}
        for item in sources(verdict.modules):
            if not item.shared or not self._is_cleared(item.callable):
                continue
            inner = [call for call in calls if (call.model, call.module, call.function) == _place(item)]
            around = [call for call in calls if call.own and any(call.holds(it) for it in inner)]
            for call in reversed(around):
                found = wrong.get((call.model, call.module, call.function))
                if found is not None:
                    return msgspec.structs.replace(found, source=True, inferred=True, shared=False)
        return None

    def _clue(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Return a call with a flaw that is harmless by itself: an input overwritten, weights that gold does not
        have."""
        pair = self.pairs.get(verdict.name)
        if pair is None or verdict.outcome != DIFFERS:
            return None
        return overwriting(pair) or with_extra_weights(pair, self.extra.get(verdict.name, {}))

    def _is_cleared(self, callable_name: str) -> bool:
        narrowest = self.shown.narrowest(callable_name)
        judged = [self.verdicts[case].outcome for case in narrowest if case in self.verdicts]
        return bool(judged) and all(outcome == AGREES for outcome in judged)

    def _by_elimination(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Blame what the recipe called to make the first wrong record, unless something in it is less well tested. Used
        where no call was caught in this case."""
        if verdict.outcome == COULD_NOT_RUN:
            called = self.shown.roots(verdict.name)
            if verdict.kind not in CUT_OFF:
                called = tuple(name for name in called if not self._is_cleared(name)) or called
            only = called[0] if len({part_of(name) for name in called}) == 1 else ""
            raising = self._raising(verdict) or only
            return self._infer(verdict, raising) if raising else None
        roots = self._roots(verdict)
        inside = self._inside(verdict.name, roots)
        right = {item.callable for item in verdict.modules if item.outcome == AGREES}
        suspects = [name for name in inside if name not in right]
        candidates = [
            *(name for name in roots if name not in right and not self._is_cleared(name)),
            *(name for name in suspects if not self._is_cleared(name)),
            *roots[-1:],
        ]
        return self._infer(verdict, candidates[0]) if candidates else None

    def _is_partial(self, verdict: CaseVerdict) -> bool:
        """Return whether nothing can be inferred: gold has only sketches of a case's calls, so that they cannot be made
        alone, and all that the recipe calls is shown to be right, or a smaller case goes wrong without it, nobody knows
        why."""
        if verdict.outcome != DIFFERS or not _is_sketched(self.pairs.get(verdict.name)):
            return False
        runs = self.shown.runs
        unexplained = [
            runs[name]
            for name, case in self.verdicts.items()
            if case.outcome == DIFFERS and not self.seen[name] and set(runs[name]) < set(runs[verdict.name])
        ]
        roots = self._roots(verdict)
        return all(self._is_cleared(name) or any(name not in other for other in unexplained) for name in roots)

    def _raising(self, verdict: CaseVerdict) -> str:
        """Return the last function of the students' in the traceback of a case that could not run, or the constructor
        of one of their classes."""
        names = {
            *self.shown.runs.get(verdict.name, ()),
            *(f"{part}.__init__" for part in self.shown.parts(verdict.name)),
        }
        frames = verdict.failure.frames if verdict.failure else ()
        return next((frame.function for frame in reversed(frames) if frame.function in names), "")

    def _roots(self, verdict: CaseVerdict) -> Sequence[str]:
        """Return what the recipe called to make the first wrong record."""
        origins = self.shown.origins.get(verdict.name, {})
        wrong = {
            item_name(leaf.path, origins)
            for leaf in (*verdict.leaves, *verdict.natural)
            if not leaf.agrees and leaf.path.partition(".")[0] == "output"
        }
        for record, made_by in origins.items():
            if record in wrong and made_by:
                return made_by
        return self.shown.runs.get(verdict.name, ())[:1]

    def _inside(self, case: str, roots: Sequence[str]) -> list[str]:
        """List what runs inside `roots`, as far as gold's trace shows; else all that runs in the case."""
        pair = self.pairs.get(case)
        runs = self.shown.runs.get(case, ())
        if pair is None or not roots:
            return list(runs)
        outer = [call for call in pair.gold if call.name in roots]
        inner = {call.name for call in pair.gold if any(item.holds(call) for item in outer)}
        traced = {call.name for call in pair.gold}
        return [name for name in runs if name in inner or name in roots or name not in traced]

    def _infer(self, verdict: CaseVerdict, callable_name: str) -> ModuleVerdict:
        """Blame a part, at its first call in gold's trace where there is one."""
        pair = self.pairs.get(verdict.name)
        call = next((call for call in _calls(pair) if call.name == callable_name), None)
        part, _, function = callable_name.partition(".")
        return ModuleVerdict(
            case=verdict.name,
            model=call.model if call else "",
            name=call.module if call else "",
            theirs=pair.names.get(call.model, {}).get(call.module, "") if pair and call else "",
            kind=part,
            function=function or part if function != "forward" else "",
            outcome=verdict.outcome,
            source=True,
            inferred=True,
        )


def _place(module: ModuleVerdict) -> tuple[str, str, str]:
    return module.model, module.name, module.function


def _is_sketched(pair: TracePair | None) -> bool:
    return any(call.own and call.is_sketched for call in _calls(pair))


def _calls(pair: TracePair | None) -> Iterator[Call]:
    return iter(pair.gold if pair else ())

"""Judge parts that no case calls by itself. That a case agrees shows that their callers have the right result, not that
the part computed it.

Such a part is called alone, on what gold's own was given. Where that speaks against it, or cannot be done, a traced run
shows whether the submission uses it. That runs in a new workspace, where nothing of gold's inputs can be left: they are
other parts' answers. A part that returns gold's answer there is in use, whatever it does alone: its signature may have
changed together with its callers, or it draws random numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from goldsmith.check.definitions import find_definition
from goldsmith.check.isolated_runs import isolated_by
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.errors.base import GoldsmithError
from goldsmith.gold.call_forms import plain_values
from goldsmith.gold.load import Gold
from goldsmith.gold.trace_tensors import Hashed, is_left_out
from goldsmith.judge.bounds import MAX_CANDIDATES
from goldsmith.judge.coverage import PartCoverage, is_constructor, part_of
from goldsmith.judge.localisation import IsolatedRuns, judge_alone, run_alone
from goldsmith.judge.parts import RIGHT, judge_parts
from goldsmith.judge.trace_pairs import TracePair, off_by, pair_traces, plain_apart
from goldsmith.judge.traces import Call, in_order_of_return
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CaseVerdict, ModuleVerdict
from goldsmith.runs.conditions import TRACED
from goldsmith.runs.run import CaseRuns

Use = Literal["used", "unused", "unknown"]
_OWN_ERRORS = ("raised", "stub", "none", "call")
"""Kinds of failure that are the part's own. A part that is missing may have another name by now; of one whose process
ended, nobody knows what it would have returned."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A function or method of an inner part in a case that agrees: gold's calls of it there, and which of them gold's
    record chooses to be made alone, if one can be. A submission that lacks that one is given no other."""

    name: str
    pair: TracePair
    calls: tuple[Call, ...]
    alone: Call | None


@dataclass
class InnerParts:
    """Looks at the inner parts of one submission, whose sources are `files`. `reopen` opens a new workspace with the
    submission in it, in which these parts are the solution's."""

    gold: Gold
    workspace: ReplayWorkspace
    replays: Mapping[str, CaseRuns]
    layouts: Mapping[str, str]
    files: Mapping[str, bytes]
    reopen: Callable[[Collection[str]], AbstractContextManager[ReplayWorkspace]]
    _pairs: dict[str, TracePair | None] = field(default_factory=dict)

    def judge(self, verdicts: Mapping[str, CaseVerdict]) -> dict[str, CaseVerdict]:
        """Add to cases that agree which inner parts are wrong all the same, and which were not seen to be right."""
        looks = list(self._looks(verdicts)) if self.gold.manifest.is_of_a_course else []
        try:
            found = self._found(looks, verdicts) if looks else {}
        except (GoldsmithError, OSError):
            raise
        except Exception:  # a bug of ours, perhaps provoked by a child's files
            found = dict.fromkeys(looks)
        judged = dict(verdicts)
        for look, item in found.items():
            case = judged[look.pair.case]
            if item is not None:
                judged[case.name] = msgspec.structs.replace(case, modules=(*case.modules, item))
            else:
                name = look.name.removesuffix(".forward")
                note = f"{name} was not judged: no case calls it by itself, and it was not seen at work"
                judged[case.name] = msgspec.structs.replace(
                    case, unseen=(*case.unseen, look.name), notes=(*case.notes, note)
                )
        return judged

    # --- what to look at ----------------------------------------------------------------------------------------------

    def _looks(self, verdicts: Mapping[str, CaseVerdict]) -> Iterator[Probe]:
        """Choose for each function or method of an inner part that counts as right the narrowest case in which it can
        be called alone. What only other methods of its class call may have been written in their place."""
        entries = {entry.name: entry for entry in self.gold.manifest.cases if not entry.variant}
        shown = PartCoverage.of(entries, self.gold.folder)
        inner = shown.inner_parts
        if not inner:
            return
        right = {part.name for part in judge_parts(list(verdicts.values()), shown) if part.outcome in RIGHT} & inner
        judged = [item for case in verdicts.values() for item in case.modules]
        known = {item.callable for item in judged if item.alone and item.tells and item.outcome == AGREES}
        for name in dict.fromkeys(name for case in verdicts for name in shown.runs.get(case, ())):
            if part_of(name) not in right or name in known or is_constructor(name):
                continue
            cases = (verdicts[case].for_part(part_of(name)) for case in shown.showing(name) if case in verdicts)
            looks = [look for case in cases if case.outcome == AGREES and (look := self._look(name, case)) is not None]
            yield from sorted(looks, key=lambda look: look.alone is None)[:1]

    def _look(self, name: str, case: CaseVerdict) -> Probe | None:
        pair = self._pair(case)
        if pair is None:
            return None
        same_part = [call for call in pair.gold if call.own and part_of(call.name) == part_of(name)]
        outer = [call for call in same_part if not any(other.holds(call) for other in same_part)]
        calls = tuple(call for call in in_order_of_return(outer) if call.name == name)
        can_run = [call for call in calls if call.can_be_made_alone and _says(call)]
        return Probe(name, pair, calls, min(can_run, key=lambda call: not call.tells, default=None)) if calls else None

    def _pair(self, case: CaseVerdict, traced: CaseRuns | None = None) -> TracePair | None:
        """Return gold's calls in a case, or in the variant that was met, with theirs in the run that was `traced`."""
        if traced is None and case.name in self._pairs:
            return self._pairs[case.name]
        gold = self.workspace.golds[case.name]
        gold = gold.variants.get(case.met, gold)
        runs = self.replays[case.name].without_trace()
        if traced is not None and case.corrected:
            runs = CaseRuns({"plain": traced.runs["traced"]})
        pair = pair_traces(gold, self.gold.folder, runs.joined(traced) if traced else runs)
        if pair is not None:
            pair.case = case.name
        if traced is None:
            self._pairs[case.name] = pair
        return pair

    # --- judging ------------------------------------------------------------------------------------------------------

    def _found(self, looks: Sequence[Probe], verdicts: Mapping[str, CaseVerdict]) -> dict[Probe, ModuleVerdict | None]:
        """Return what is wrong, and None for what was not seen to be right; what is right is left out."""
        calls: dict[str, list[Call]] = {}
        for look in looks:
            calls.setdefault(look.pair.case, []).extend([look.alone] if look.alone else [])
        pairs = {look.pair.case: dataclasses.replace(look.pair, gold=calls[look.pair.case]) for look in looks}
        with self.workspace.one_worker():
            alone = run_alone(isolated_by(self.workspace, self.layouts), pairs, most=len(pairs))
        judged = {look: _judge(look, alone) for look in looks}
        replaced = [look for look in looks if self._is_replaced(look, alone)]
        doubtful = [look for look, item in judged.items() if item is None or item.outcome != AGREES or look in replaced]
        uses = self._uses(doubtful, replaced, verdicts) if doubtful else {}
        found: dict[Probe, ModuleVerdict | None] = {}
        for look, use in uses.items():
            item = judged[look]
            if use == "unused" and item is not None and _is_wrong(look, item, alone):
                found[look] = msgspec.structs.replace(item, source=True, unused=True)
            elif use != "used":
                found[look] = None
        return found

    def _is_replaced(self, look: Probe, alone: IsolatedRuns) -> bool:
        """Return whether a module of another class was called in place of the part, which the submission has, too."""
        call = look.alone
        answer = alone.runs.get((look.pair.case, call.position)) if call else None
        if call is None or answer is None or answer.failure is not None or call.is_function:
            return False
        return call.kind not in answer.classes and bool(find_definition(self.files, call.kind, call.function))

    def _uses(
        self, looks: Sequence[Probe], replaced: Sequence[Probe], verdicts: Mapping[str, CaseVerdict]
    ) -> dict[Probe, Use]:
        """Find out by a traced run what the submission uses. Those `replaced` are found by their class alone."""
        cases: dict[tuple[str, ...], list[str]] = {}
        for name in dict.fromkeys(look.pair.case for look in looks):
            cases.setdefault(verdicts[name].corrected, []).append(name)
        traced: dict[str, CaseRuns] = {}
        for corrected, names in cases.items():
            with self.reopen(corrected) as workspace:
                traced |= workspace.run(dict.fromkeys(names, (TRACED,)), self.layouts)
        pairs = {
            name: self._pair(verdicts[name], runs) if runs.runs["traced"].failure is None else None
            for name, runs in traced.items()
        }
        return {look: _use(look, pairs[look.pair.case], by_name=look in replaced) for look in looks}


def _says(call: Call) -> bool:
    """Return whether gold has an answer of a call that others can be compared with."""
    kept = not any(isinstance(item, Hashed) or is_left_out(item) for item in call.outputs)
    return kept and bool(call.outputs or call.after or plain_values(call.returned))


def _judge(look: Probe, alone: IsolatedRuns) -> ModuleVerdict | None:
    """Judge the call that was made alone; None if it was not."""
    answer = alone.runs.get((look.pair.case, look.alone.position)) if look.alone else None
    return judge_alone(look.pair, look.alone, answer) if look.alone and answer else None


def _is_wrong(look: Probe, judged: ModuleVerdict, alone: IsolatedRuns) -> bool:
    """Return whether a call made alone speaks against a part that is not in use. Other answers do not if each call has
    another: then nobody's would be gold's."""
    if look.alone is None or judged.outcome == AGREES:
        return False
    answer = alone.runs[look.pair.case, look.alone.position]
    if answer.failure is not None:
        return answer.failure.kind in _OWN_ERRORS
    first, *again = answer.calls
    limit = look.pair.limit(look.alone)
    return judged.outcome == COULD_NOT_RUN or all(_apart(later, first) <= limit for later in again)


def _use(look: Probe, pair: TracePair | None, *, by_name: bool) -> Use:
    """Say whether the submission uses a part: it does where a call returned what one of gold's did, and was not given
    that. A call that returned something else may have been made for nothing, or its callers know what to do with it:
    that is unknown. A call that raised an error, or whose answer takes no work, is no use of it."""
    if pair is None or not pair.theirs:
        return "unknown"
    places = {pair.key(gold) for gold in look.calls if gold.model and not by_name}
    ended = [
        call
        for call in pair.theirs
        if not call.raised and (call.name == look.name or (call.model, call.module, call.function) in places)
    ][:MAX_CANDIDATES]
    golds = [call for call in look.calls if _says(call) and not call.drew]
    if not golds:  # nothing can be compared
        return "used" if any(_does_something(call, look) for call in ended) else "unknown"
    for gold in golds:
        same = (call for call in ended if _apart(call, gold) <= pair.limit(gold))
        if any(_takes_work(call) or not _takes_work(gold) for call in same):
            return "used"
    untraced = any(call.partial for call in pair.theirs)
    return "unknown" if untraced or any(map(_takes_work, ended)) else "unused"


def _takes_work(call: Call) -> bool:
    """Return whether an answer is more than what the call was given: no tensor of its arguments, and no number."""
    fresh = bool(call.outputs or call.after) or not set(plain_values(call.returned)) <= set(plain_values(call.form))
    return call.tells and fresh


def _does_something(theirs: Call, look: Probe) -> bool:
    """Return whether a call returns something, or changes what it is given, where gold's does."""
    returns = any(gold.returned != [None] for gold in look.calls)
    changes = any(gold.overwrote for gold in look.calls)
    return (theirs.returned != [None] or not returns) and (theirs.overwrote or not changes)


def _apart(theirs: Call, gold: Call) -> float:
    return max(off_by(theirs, gold), plain_apart(theirs, gold))

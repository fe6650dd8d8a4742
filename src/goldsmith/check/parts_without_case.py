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

import msgspec

from goldsmith.check.isolated_runs import isolated_by
from goldsmith.check.places import find_definition
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.errors.base import GoldsmithError
from goldsmith.gold.load import Gold
from goldsmith.judge.coverage import PartCoverage, is_constructor, part_of
from goldsmith.judge.localisation import IsolatedRuns, run_alone
from goldsmith.judge.part_use import Probe, Use, is_comparable, is_wrong, judge_probe, use_of
from goldsmith.judge.parts import RIGHT, judge_parts
from goldsmith.judge.trace_pairs import TracePair, pair_traces
from goldsmith.judge.traces import Call, in_order_of_return
from goldsmith.judge.verdicts import AGREES, CaseVerdict, ModuleVerdict
from goldsmith.runs.conditions import TRACED
from goldsmith.runs.run import CaseRuns


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
        outer = [call for call in same_part if not any(other.encloses(call) for other in same_part)]
        calls = tuple(call for call in in_order_of_return(outer) if call.name == name)
        can_run = [call for call in calls if call.can_be_made_alone and is_comparable(call)]
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
        judged = {look: judge_probe(look, alone) for look in looks}
        replaced = [look for look in looks if self._is_replaced(look, alone)]
        doubtful = [look for look, item in judged.items() if item is None or item.outcome != AGREES or look in replaced]
        uses = self._uses(doubtful, replaced, verdicts) if doubtful else {}
        found: dict[Probe, ModuleVerdict | None] = {}
        for look, use in uses.items():
            item = judged[look]
            if use == "unused" and item is not None and is_wrong(look, item, alone):
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
        return {look: use_of(look, pairs[look.pair.case], by_name=look in replaced) for look in looks}

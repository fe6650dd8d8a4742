"""Naming the first module that goes wrong, and telling sources from victims.

A module whose input agrees and whose output does not is a source. One whose input was wrong already is judged on gold's
own input, alone. Where names cannot be paired, values are: a module of gold's is there if what it returned is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.checking.company import Company
from goldsmith.checking.leavings import Replayed
from goldsmith.checking.traces import CLOSE, Call, Held, by_execution, calls_in, farthest, module_names
from goldsmith.checking.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict, ModuleVerdict, Outcome
from goldsmith.gold import GoldCase, mapped, unpacked
from goldsmith.recording import Attempt, Isolated

MOST_CASES = 4
"""So many cases get modules run alone, one of each kind: a kind's code is the same wherever it stands."""
MOST_CALLS, MOST_TENSORS = 10_000, 256
"""A submission's trace with more calls, or a call with more tensors, is not looked at."""


@dataclass
class Scene:
    """One case's two traces, side by side: gold's calls with theirs, as far as they could be paired.

    A `thorough` one has more calls than a trace shows, and shows nothing wrong: every module is then tried twice.
    """

    case: GoldCase
    gold: list[Call]
    theirs: list[Call]
    names: Mapping[str, Mapping[str, str]]
    partners: dict[int, Call] = field(default_factory=dict)
    given: dict[int, float] = field(default_factory=dict)
    off: dict[int, float] = field(default_factory=dict)
    thorough: bool = False

    def pair(self) -> None:
        """Each of gold's calls with one of theirs: of several in one module, the one that was given the same."""
        taken: set[int] = set()
        for call in self.gold:
            name = self.names.get(call.model, {}).get(call.module)
            same = [
                item
                for item in self.theirs
                if item.model == call.model and item.module == name and item.position not in taken
            ]
            if name is None or not same:
                continue
            partner = min(same, key=lambda item: (farthest(item.inputs, call.inputs) > CLOSE, item.position))
            taken.add(partner.position)
            self.partners[call.position] = partner
            self.given[call.position] = farthest(partner.inputs, call.inputs)
            if partner.outputs or not call.outputs:
                self.off[call.position] = farthest(partner.outputs, call.outputs)

    @property
    def settled_kinds(self) -> set[str]:
        """Of which the replay itself has judged one already."""
        if self.thorough:
            return set()
        return {call.kind for call in self.gold if call.position in self.off and self.given[call.position] <= CLOSE}

    def unpaired_in(self, source: ModuleVerdict | None) -> list[Call]:
        """The course's own modules in gold's `source`, or anywhere, that no module of theirs could be paired with."""
        outer = [call for call in self.gold if source and (call.model, call.module) == (source.model, source.name)]
        first, end = (outer[0].position, outer[0].end) if outer else (-1, len(self.gold))
        return [
            call
            for call in self.gold
            if call.own and first < call.position < end and call.module not in self.names.get(call.model, {})
        ]

    def needs_alone(self, call: Call) -> bool:
        """Whether the replay itself could not say if this module is right."""
        if not call.own or call.form is None or not self.names.get(call.model, {}).get(call.module, call.module == ""):
            return False
        if self.thorough or call.position not in self.partners:
            return call.module in self.names.get(call.model, {})
        return self.given[call.position] > CLOSE and self.off.get(call.position, 1.0) > CLOSE


def set_scene(case: GoldCase, folder: Path, replayed: Replayed) -> Scene | None:
    """The scene of a case that left a trace, on gold's side at least."""
    if case.entry.trace is None:
        return None
    gold = calls_in(mapped(folder / case.entry.trace))
    theirs = _their_calls(replayed)
    names = {}
    for model in case.entry.models:
        mine = [call for call in gold if call.model == model]
        other = [call for call in theirs if call.model == model]
        reachable = other or [_named(name) for name in _module_paths(replayed.once, model)]
        names[model] = module_names(replayed.once.placed.get(model, ()), mine, reachable)
    scene = Scene(case, gold, theirs, names)
    scene.pair()
    scene.thorough = case.entry.calls > 1 and all(off <= CLOSE for off in scene.off.values())
    return scene


def _their_calls(replayed: Replayed) -> list[Call]:
    if replayed.trace is None:
        return []
    try:
        calls = calls_in(unpacked(replayed.trace, Path("its trace")))
    except (OSError, ValueError, RecursionError, MemoryError):
        return []  # what a submission's process wrote and nobody can read is no evidence
    absurd = len(calls) > MOST_CALLS or any(len(call.inputs) + len(call.outputs) > MOST_TENSORS for call in calls)
    return [] if absurd else calls


def _module_paths(attempt: Attempt, model: str) -> list[str]:
    """The modules that hold their weights, and those around them, where no trace names them."""
    weights = [name for _, theirs in attempt.placed.get(model, ()) for name in theirs]
    paths = {""}
    for name in weights:
        parts = name.split(".")[:-1]
        paths |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return sorted(paths)


def _named(module: str) -> Call:
    return Call(0, 0, "", module, "", True, (), (), None)


def run_alone(
    company: Company, scenes: Mapping[str, Scene], layouts: Mapping[str, str]
) -> dict[tuple[str, int], Replayed]:
    """Every module that needs it, run on gold's own inputs, by case and position."""
    wanted: list[tuple[str, Call]] = []
    for name, scene in scenes.items():
        kinds: dict[str, Call] = {}
        for call in by_execution(scene.gold):
            if call.kind not in scene.settled_kinds and scene.needs_alone(call):
                kinds.setdefault(call.kind, call)
        if len({case for case, _ in wanted}) < MOST_CASES:
            # in this order for a reason: see recording/isolation.py
            wanted += [(name, call) for call in sorted(kinds.values(), key=lambda call: call.position)]
    found = {}
    for name, call in wanted:
        inputs = {str(index): tensor for index, tensor in enumerate(call.inputs)}
        item = _isolated(call, scenes[name])
        found[name, call.position] = company.alone(name, item, inputs, layouts.get(name, ""))
    return found


def _isolated(call: Call, scene: Scene) -> Isolated:
    module = scene.names[call.model].get(call.module, call.module)
    return Isolated(model=call.model, module=module, form=call.form, training=call.training)


def judge_modules(scene: Scene, alone: Mapping[tuple[str, int], Replayed]) -> list[ModuleVerdict]:
    """Every module of gold's that there is evidence about, in the order in which they ended."""
    found = []
    inside_sources: set[int] = set()
    for call in by_execution(scene.gold):
        run = alone.get((scene.case.name, call.position))
        verdict = _from_replay(scene, call) if run is None else _from_isolation(scene, call, run)
        if verdict is None:
            continue
        if verdict.outcome == DIFFERS:
            inner = [number for number in inside_sources if call.position < number < call.end]
            if not inner:
                verdict = _as_source(verdict)
            inside_sources.add(call.position)
        found.append(verdict)
    return found


def _from_replay(scene: Scene, call: Call) -> ModuleVerdict | None:
    off, given = scene.off.get(call.position), scene.given.get(call.position, float("inf"))
    if off is None:
        return None
    if off > CLOSE and given > CLOSE:
        return None  # a victim perhaps, a culprit perhaps: nobody knows
    return _verdict(scene, call, DIFFERS if off > CLOSE else AGREES, relative=off)


def _from_isolation(scene: Scene, call: Call, run: Replayed) -> ModuleVerdict:
    if run.once.failure is not None:
        return _verdict(scene, call, COULD_NOT_RUN, alone=True, why=run.once.failure.message.splitlines()[0])
    arrays = run.leaves("once")
    calls = [_outputs(arrays, number) for number in ("0", "2")]
    if call.outputs and not calls[0]:
        return _verdict(scene, call, COULD_NOT_RUN, alone=True, why="it returned no tensor")
    off = farthest(calls[0], call.outputs)
    if off > CLOSE:
        return _verdict(scene, call, DIFFERS, alone=True, relative=off)
    again = farthest(calls[1], calls[0])
    if again > CLOSE:
        return _verdict(scene, call, DIFFERS, alone=True, relative=again, why="another answer when called again")
    return _verdict(scene, call, AGREES, alone=True, relative=off)


def _outputs(arrays: Mapping[str, Any], number: str) -> list[Any]:
    return [value for name, value in arrays.items() if name.partition(".")[0] == number]


def _verdict(scene: Scene, call: Call, outcome: Outcome, **fields: Any) -> ModuleVerdict:
    return ModuleVerdict(
        case=scene.case.name,
        model=call.model,
        name=call.module,
        kind=call.kind,
        own=call.own,
        outcome=outcome,
        theirs=scene.names.get(call.model, {}).get(call.module, ""),
        **fields,
    )


def _as_source(verdict: ModuleVerdict) -> ModuleVerdict:
    return msgspec.structs.replace(verdict, source=True)


def first_source(modules: Sequence[ModuleVerdict]) -> ModuleVerdict | None:
    return next((item for item in modules if item.source), None)


def first_miss_by_value(calls: Sequence[Call], produced: Sequence[Any]) -> Call | None:
    """The first of gold's calls whose output is nowhere among what was produced, and none after it is there."""
    missed: Call | None = None
    held = Held(produced)
    for call in by_execution(calls):
        if not call.outputs or call.outputs[0].dtype.kind not in "fc":
            continue
        if held.holds(call.outputs[0]):
            missed = None
        elif missed is None:
            missed = call
    return missed


def gradient_divergence(verdict: CaseVerdict) -> str:
    """Where gradients go wrong on their way back, when everything was right on the way there."""
    names = [leaf for leaf in verdict.leaves if leaf.path.startswith("output.gradients.")]
    wrong = [leaf.path.removeprefix("output.gradients.") for leaf in names if not leaf.agrees]
    order = [leaf.path.removeprefix("output.gradients.") for leaf in names]
    if not wrong:
        return ""
    last = max(order.index(name) for name in wrong)
    if last + 1 >= len(order):
        return ""
    return _ancestor(order[last + 1], order[last])


def _ancestor(right: str, wrong: str) -> str:
    """The outermost module around the first right weight that the last wrong one does not lie in."""
    mine, other = right.split(".")[:-1], wrong.split(".")[:-1]
    same = next((level for level, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), len(other))
    depth = same + 1
    if mine[depth : depth + 1] and mine[depth].isdigit():
        depth += 1
    return ".".join(mine[:depth])

"""Who is to blame for a case that is not right: a module by evidence, or a function because nothing else is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from goldsmith.checking.company import Company
from goldsmith.checking.leavings import Replayed
from goldsmith.checking.localising import (
    Scene,
    first_miss_by_value,
    first_source,
    gradient_divergence,
    judge_modules,
    run_alone,
    set_scene,
)
from goldsmith.checking.running import Stage
from goldsmith.checking.traces import Call
from goldsmith.checking.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict, ModuleVerdict


def localise(
    stage: Stage,
    folder: Path,
    verdicts: Mapping[str, CaseVerdict],
    replays: Mapping[str, Replayed],
    layouts: Mapping[str, str],
) -> dict[str, CaseVerdict]:
    """The same verdicts; those against have what is known about modules, and the first that goes wrong."""
    scenes: dict[str, Scene] = {}
    for name, verdict in verdicts.items():
        if verdict.outcome in (DIFFERS, COULD_NOT_RUN) and verdict.kind != "weights":
            scene = set_scene(stage.golds[name], folder, replays[name])
            if scene is not None:
                scenes[name] = scene
    with stage.company() as company:
        alone = run_alone(company, scenes, layouts)
    found = dict(verdicts)
    with stage.company() as company:  # another, which nobody has given anything of gold's but what all are given
        for name, scene in scenes.items():
            modules = judge_modules(scene, alone)
            if verdicts[name].outcome == DIFFERS:
                modules = _by_other_signs(company, verdicts[name], scene, modules, layouts)
            source = first_source(modules)
            first = (source.name or source.kind) if source else ""
            found[name] = msgspec.structs.replace(verdicts[name], modules=tuple(modules), first_divergence=first)
    return {name: _by_elimination(verdict, found, scenes.get(name), replays) for name, verdict in found.items()}


def _by_other_signs(
    company: Company, verdict: CaseVerdict, scene: Scene, modules: list[ModuleVerdict], layouts: Mapping[str, str]
) -> list[ModuleVerdict]:
    """Where names pair too little, by value; where all is right on the way there, by gradients on the way back."""
    source = first_source(modules)
    unpaired = scene.unpaired_in(source)
    if unpaired:
        replayed = company.replay({verdict.name: ("taps",)}, layouts)[verdict.name]
        call = first_miss_by_value(unpaired, list(replayed.arrays.get("taps", {}).values()))
        return [_source(verdict, call, "what gold's returned is nowhere to be found"), *modules] if call else modules
    name = gradient_divergence(verdict) if source is None else ""
    call = next((item for item in scene.gold if item.module == name), None) if name else None
    return [*modules, _source(verdict, call, "its gradients go wrong on the way back")] if call else modules


def _source(verdict: CaseVerdict, call: Call, why: str) -> ModuleVerdict:
    return ModuleVerdict(
        case=verdict.name,
        model=call.model,
        name=call.module,
        kind=call.kind,
        own=call.own,
        outcome=DIFFERS,
        source=True,
        why=why,
    )


def _by_elimination(
    verdict: CaseVerdict, verdicts: Mapping[str, CaseVerdict], scene: Scene | None, replays: Mapping[str, Replayed]
) -> CaseVerdict:
    """No module was caught in this case: then it is one that was caught elsewhere and is part of it, or a function."""
    if verdict.outcome != DIFFERS or verdict.first_divergence:
        return verdict
    caught = {item.kind for other in verdicts.values() for item in other.modules if item.source}
    inside = next((call for call in scene.gold if call.kind in caught), None) if scene else None
    first = inside.label if inside else _function(verdict.name, verdicts, replays)
    return msgspec.structs.replace(verdict, first_divergence=first)


def _function(name: str, verdicts: Mapping[str, CaseVerdict], replays: Mapping[str, Replayed]) -> str:
    """Of the functions that the case calls, the last that no case which agrees calls, too."""
    uses: Sequence[str] = replays[name].once.uses
    agreeing = {part for other, item in verdicts.items() if item.outcome == AGREES for part in replays[other].once.uses}
    suspects = [part for part in uses if part not in agreeing] or list(uses)
    return suspects[-1] if suspects else ""

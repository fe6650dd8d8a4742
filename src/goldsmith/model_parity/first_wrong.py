"""What leads to the line of the first wrong module: where its code is, what went in and out, where that differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from goldsmith.comparison.api import compare
from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call, as_numbers
from goldsmith.judge.verdicts import AGREES, ModuleVerdict
from goldsmith.model_parity.result import FirstWrong, How
from goldsmith.runs.implementation import Described


def describe_first_wrong(
    source: ModuleVerdict,
    how: How,
    pair: TracePair,
    described: tuple[Described, Described],
    unused: Sequence[str],
) -> FirstWrong:
    """Describe a module by its first call that differs; `unused` are the candidate's weights that nothing depends on.
    Where its inputs differ already, its output in place says nothing."""
    calls = [call for call in pair.gold if (call.module, call.function) == (source.name, source.function)]
    call = next((item for item in calls if pair.outcome(item) != AGREES), next(iter(calls), None))
    partner = pair.partners.get(call.position) if call else None
    name, kind = source.theirs or source.name, source.their_kind or source.kind
    own = f"{name}." if name else ""
    reference, candidate = described
    settings = _apart(reference.settings.get(source.name, ""), candidate.settings.get(name, ""))
    relative = None if source.relative in (None, math.inf) else float(f"{source.relative:.3g}")
    in_place = call is not None and pair.input_errors.get(call.position, float("inf")) <= pair.close
    return FirstWrong(
        name=name,
        kind=kind,
        how=how,
        place=place_of(candidate, name, kind),
        reference=source.name,
        reference_place=place_of(reference, source.name, source.kind),
        settings=settings[0],
        their_settings=settings[1],
        inputs=_shapes(call.inputs if call else ()),
        their_inputs=_shapes(partner.inputs if partner else ()),
        outputs=_shapes(call.outputs if call else ()),
        their_outputs=_shapes(partner.outputs if partner else ()),
        relative=relative,
        where=_where(call, partner) if call and partner and in_place else "",
        why=source.why,
        unused=tuple(weight for weight in unused if weight.startswith(own)),
    )


def not_alone(verdict: ModuleVerdict) -> str:
    """Say that a module could not be called by itself, and what it said; empty if it could."""
    failed = verdict.alone and verdict.said
    return f"it could not run alone on the reference's inputs: {verdict.said}" if failed else ""


def _apart(mine: str, theirs: str) -> tuple[str, str]:
    """Return the settings that both modules have, and that differ."""
    one, two = (dict(part.split("=", 1) for part in text.split(", ") if "=" in part) for text in (mine, theirs))
    other = [name for name in one if two.get(name, one[name]) != one[name]]
    first, second = (", ".join(f"{name}={found[name]}" for name in other) for found in (one, two))
    return first, second


def place_of(side: Described, name: str, kind: str) -> str:
    """Return where a module's `forward` is, or where it is made if its class is torch's."""
    if kind in side.made or not name:
        return side.places.get(kind, "")
    above = name
    while above:
        above = above.rpartition(".")[0]
        if side.modules.get(above) in side.made:
            return side.made[side.modules[above]]
    return side.places.get(kind, "")


def _shapes(tensors: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(tuple(item.shape)) for item in tensors if hasattr(item, "shape"))


def _where(call: Call, partner: Call) -> str:
    """Say where outputs that were given the same inputs differ, and how."""
    mine, theirs = (
        {str(number): as_numbers(item) for number, item in enumerate(outputs) if hasattr(item, "shape")}
        for outputs in (call.outputs, partner.outputs)
    )
    if not mine or mine.keys() != theirs.keys():
        return ""
    worst = compare(theirs, mine).worst
    return "; ".join(filter(None, (worst.where, worst.guess))) if worst is not None else ""

"""Weights that are tied on one side only: one tensor under several names there, several tensors here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from goldsmith.weights.axes import Shape
from goldsmith.weights.placement import Placed
from goldsmith.weights.rules import Adapter, Rule, fill, match
from goldsmith.weights.transplant import CannotPlace, plan


def places_of(name: str, rules: Iterable[Rule]) -> list[tuple[str, Rule | None]]:
    """Return where a weight of gold's may go by itself: under its own name, or where a renaming puts it."""
    found: list[tuple[str, Rule | None]] = [(name, None)]
    for rule in rules:
        stars = match(rule.gold[0].name, name) if rule.parts == 1 and not rule.indexed else None
        if stars is not None:
            found.append((fill(rule.theirs[0].name, stars), rule))
    return found


def shared_places(gold: Iterable[str], aliases: Mapping[str, str], rules: Sequence[Rule]) -> dict[str, str]:
    """Map weights of gold's to the other name of a weight that is tied in theirs; `aliases` maps such names to the one
    under which it is placed."""
    found = {}
    for name in gold:
        place = next((place for place, _ in places_of(name, rules) if place in aliases), None)
        if place is not None:
            found[name] = place
    return found


def plan_copies(
    repeated: Mapping[str, Shape],
    extra: Mapping[str, Shape],
    adapter: Adapter,
    layout: str,
    settings: Mapping[str, Any],
    turned: Collection[str],
) -> list[Placed]:
    """Place the other names of weights that are tied in gold, where theirs are weights of their own."""
    found: list[Placed] = []
    free = dict(extra)
    for name, shape in repeated.items():
        try:
            own = plan({name: shape}, free, adapter, layout, settings, turned=[item for item in turned if item in free])
        except CannotPlace:
            continue
        for item in own.placed:
            found.append(item)
            for place in item.theirs:
                del free[place]
    return found

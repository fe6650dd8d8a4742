"""Which of a candidate's weights were stored in another arrangement than is assumed by default, to see whether the two
agree so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldsmith.runs.implementation import LoadRequest
from goldsmith.weights.placement import Placed
from goldsmith.weights.rules import BLOCKS, BUILT_IN, Adapter


def arranged_weights(
    placed: Sequence[Placed], weights: Mapping[str, Any], request: LoadRequest, adapter: Adapter
) -> list[str]:
    """Name the candidate's weights that could have been stored as usual, by their shapes, and were not."""
    if request.layout in BUILT_IN:
        return [name for item in placed if _is_unusual(item) for name in item.theirs]
    if request.layout:
        rules = adapter.layouts.get(request.layout, ())
        return [name for item in placed if item.rule in rules for name in item.theirs]
    turned = [item for item in placed if set(item.theirs) & set(request.turned)]
    square = all(len(set(weights[name].shape)) == 1 for item in turned for name in item.gold)
    return [name for item in turned for name in item.theirs] if square else []


def _is_unusual(item: Placed) -> bool:
    return bool(item.rule.axes) or any(held.order != BLOCKS for held in (*item.mine, *item.other))

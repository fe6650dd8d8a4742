"""Align the tensors of two models' calls: one may return what the other does not, have one more axis of size one, or
have its axes in another order."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, permutations
from operator import mul
from typing import Any

from goldsmith.judge.traces import Call, distance
from goldsmith.model_parity.input_forms import in_form_of

_MOST_ORDERS = 24
"""Orders of axes that are tried: those of four axes of the same size."""


def align_calls(
    mine: Sequence[Call], theirs: Sequence[Call], names: Mapping[str, str], *, turned: bool = False
) -> tuple[list[Call], list[Call]]:
    """Return both models' calls so that those of modules paired by `names` can be compared.

    Of the reference's outputs, those stay that the candidate returns, if it returns any of them: attention may also
    return its scores. The candidate's tensors get the reference's axes; those that may be `turned` have channels last,
    which a shape whose sizes are the same does not say.
    """
    left: dict[str, list[int]] = {}
    for number, call in enumerate(theirs):
        if not call.function:
            left.setdefault(call.module, []).append(number)
    one, two = list(mine), list(theirs)
    for number, call in enumerate(mine):
        partners = left.get(names.get(call.module, ""), []) if not call.function and call.module in names else []
        if partners:
            place = partners.pop(0)
            one[number], two[place] = _align(call, two[place], turned=turned)
    return one, two


def without_strangers(mine: Sequence[Call], theirs: Sequence[Call], names: Mapping[str, str]) -> dict[str, str]:
    """Return `names` without modules that hold the same weights and are used for something else: neither what they take
    nor what they return has the same shape anywhere, as where a matrix takes the place of a convolution."""
    calls: dict[str, list[Call]] = {}
    for call in theirs:
        if not call.function:
            calls.setdefault(call.module, []).append(call)
    known = {call.module for call in mine if call.module in names and not calls.get(names[call.module])}
    for call in mine:
        if not call.function and call.module in names:
            for other in calls.get(names[call.module], []):
                alike = _correspondence(call.inputs, other.inputs) or _correspondence(call.outputs, other.outputs)
                if alike or not (call.outputs and other.outputs):
                    known.add(call.module)
    called = {call.module for call in mine}
    return {name: other for name, other in names.items() if name in known or name not in called}


def share_outputs(mine: Call, theirs: Call) -> bool:
    """Say whether two calls return any tensors that correspond."""
    return bool(_correspondence(mine.outputs, theirs.outputs))


def align_outputs(theirs: Sequence[Any], mine: Sequence[Any], *, turned: bool = False) -> tuple[Any, ...]:
    """Return the candidate's tensors with the axes of the reference's that they correspond to."""
    found = _correspondence(mine, theirs)
    return tuple(
        as_shaped(item, mine[found[number]], turned=turned) if number in found else item
        for number, item in enumerate(theirs)
    )


def correspond(one: Any, two: Any) -> bool:
    """Say whether two tensors can hold the same numbers: with other axes of size one, with axes in another order, or
    with neighbouring axes as one."""
    return _same_but_for_ones(one, two) or _same_but_for_axes(one, two)


def as_shaped(item: Any, like: Any, *, turned: bool = False) -> Any:
    """Return a tensor with the axes of one that it corresponds to; of several orders of axes that have the shape, the
    one in which it is nearest."""
    if not hasattr(item, "transpose"):
        return item
    if item.shape == like.shape:
        orders = channels_first_and_last(item) if turned else []
        return min([item, *orders], key=lambda other: distance(other, like)) if orders else item
    if _same_but_for_ones(item, like) or sorted(_without_ones(item)) != sorted(_without_ones(like)):
        return item.reshape(like.shape)
    flat, wanted = item.reshape(_without_ones(item)), _without_ones(like)
    orders = [order for order in permutations(range(flat.ndim)) if tuple(flat.shape[axis] for axis in order) == wanted]
    found = [flat.transpose(order).reshape(like.shape) for order in orders[:_MOST_ORDERS]]
    return found[0] if len(found) == 1 else min(found, key=lambda other: distance(other, like))


def channels_first_and_last(item: Any) -> list[Any]:
    """Return a batch of images with channels at the other end, both ways, where that has the same shape."""
    if item.ndim < 4 or len(set(item.shape[1:])) > 1 or item.dtype.kind not in "fc":
        return []
    first, *middle, last = range(1, item.ndim)
    return [item.transpose(0, last, first, *middle), item.transpose(0, *middle, last, first)]


def _align(mine: Call, theirs: Call, *, turned: bool) -> tuple[Call, Call]:
    found = _correspondence(mine.outputs, theirs.outputs)
    kept = tuple(mine.outputs[number] for number in sorted(found.values()))
    if kept and len(kept) < len(mine.outputs):
        mine = dataclasses.replace(mine, outputs=kept, returned=None)
    outputs = align_outputs(theirs.outputs, mine.outputs, turned=turned)
    inputs = _in_forms_of(align_outputs(theirs.inputs, mine.inputs, turned=turned), mine.inputs)
    return mine, dataclasses.replace(theirs, outputs=outputs, inputs=inputs)


def _in_forms_of(theirs: Sequence[Any], mine: Sequence[Any]) -> tuple[Any, ...]:
    """Return the candidate's inputs with masks and tables in the reference's form, each in that which it is nearest."""
    found, taken = list(theirs), set(_correspondence(mine, theirs).values())
    for number in sorted(set(range(len(theirs))) - set(_correspondence(mine, theirs))):
        forms = [(place, in_form_of(theirs[number], mine[place])) for place in range(len(mine)) if place not in taken]
        near = [(distance(form, mine[place]), place, form) for place, form in forms if form is not None]
        if near:
            _, place, found[number] = min(near, key=lambda item: item[:2])
            taken.add(place)
    return tuple(found)


def _correspondence(mine: Sequence[Any], theirs: Sequence[Any]) -> dict[int, int]:
    """Map places of their tensors to those of mine, in order, where both can hold the same numbers."""
    found: dict[int, int] = {}
    for alike in (_same_but_for_ones, _same_but_for_axes):
        for number, item in enumerate(theirs):
            free = [place for place, other in enumerate(mine) if place not in found.values()]
            same = [place for place in free if number not in found and alike(mine[place], item)]
            if same:
                found[number] = same[0]
    return found


def _same_but_for_ones(one: Any, two: Any) -> bool:
    return bool(_without_ones(one) == _without_ones(two))


def _same_but_for_axes(one: Any, two: Any) -> bool:
    """Say whether two shapes are the same in another order, or with neighbouring axes as one."""
    mine, other = _without_ones(one), _without_ones(two)
    if not isinstance(mine, tuple) or not isinstance(other, tuple) or not mine or not other:
        return False
    ends = [set(accumulate(sizes, mul)) for sizes in (mine, other)]
    return sorted(mine) == sorted(other) or (
        math.prod(mine) == math.prod(other) and (ends[0] <= ends[1] or ends[1] <= ends[0])
    )


def _without_ones(item: Any) -> Any:
    shape = getattr(item, "shape", None)
    return item if shape is None else tuple(size for size in shape if size != 1)

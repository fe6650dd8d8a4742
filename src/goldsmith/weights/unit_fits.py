"""How the weights of two units may be stored as each other: hypotheses by shapes and kinds, the likeliest first.

Between models of one library, numbers lie alike or the other way round. Between libraries, kernels have their outputs
last, convolutions their channels, projections their heads apart, transposed convolutions their kernel reversed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldsmith.runs.implementation import KERNEL, LINEAR, TABLE
from goldsmith.weights.axes import (
    BACKWARDS,
    HEADS,
    PATCHES,
    PLAIN,
    RESHAPED,
    TURNED,
    Fit,
    Shape,
    can_reshape,
    fits_between,
    inverse,
    read_axes,
    swap_last_axes,
)
from goldsmith.weights.units import NORMAL, WEIGHT, Unit

AS_IT_IS, _TURNED = Fit(PLAIN), Fit(TURNED)
_TRANSPOSED = "transpose"
_PART_AXES = "(h d) e -> e h d"
_WHOLE_AXES = "(p h d) e -> e p h d"


def cross(mine: Unit, theirs: Unit) -> bool:
    """Say whether two units are of libraries that may store weights otherwise."""
    return mine.library != theirs.library or KERNEL in (mine.kind, theirs.kind)


def ways_between(mine: Unit, theirs: Unit) -> list[Fit]:
    """List the ways in which the weights of two units can correspond by their shapes and kinds."""
    both = [role for role in mine.shapes if role in theirs.shapes]
    others = [(mine.shapes[role], theirs.shapes[role]) for role in both if role != WEIGHT]
    if WEIGHT not in both or any(
        one != two and not (cross(mine, theirs) and can_reshape(one, two)) for one, two in others
    ):
        return []
    one, two = mine.shapes[WEIGHT], theirs.shapes[WEIGHT]
    normal = mine.form == theirs.form == NORMAL
    kernels = [unit.kind == KERNEL for unit in (mine, theirs)]
    if not cross(mine, theirs) or all(kernels) or TABLE in (mine.kind, theirs.kind):
        if one == two:
            return [AS_IT_IS]
        if len(one) == 2 and one == swap_last_axes(two):
            return [_TURNED]
        return [Fit(RESHAPED)] if normal and can_reshape(one, two) else []
    found = fits_between(one, two, kernel=kernels.index(True) if any(kernels) else None)
    if any(kernels) and (LINEAR in (mine.kind, theirs.kind) or len(one) > 2):
        found = [fit for fit in found if fit.kind != PLAIN]
    if not normal:
        found = [fit for fit in found if fit.kind != RESHAPED]
    return sorted(found, key=lambda fit: penalty(mine, theirs, fit))


def penalty(mine: Unit, theirs: Unit, fit: Fit) -> float:
    """Return how much speaks against a way to store weights, by what kinds they are."""
    kinds = {mine.kind, theirs.kind}
    found = 4.0 * (TABLE in kinds and bool(kinds & {LINEAR, KERNEL}))
    if fit.kind == TURNED and kinds != {LINEAR, KERNEL}:
        found += 5 if kinds == {LINEAR} or TABLE in kinds else 0.5
    if fit.kind == BACKWARDS:
        found += -0.5 if is_transposed(mine) or is_transposed(theirs) else 0.5
    return found + (fit.kind in (RESHAPED, PATCHES)) + 0.25 * (fit.kind == HEADS)


def is_certain(mine: Unit, theirs: Unit) -> bool:
    """Say whether units of one name, in libraries that store weights otherwise, can be stored in one way only."""
    unlikely = {PATCHES, RESHAPED} | (set() if is_transposed(mine) or is_transposed(theirs) else {BACKWARDS})
    ways = [fit for fit in ways_between(mine, theirs) if fit.kind not in unlikely]
    return cross(mine, theirs) and mine.path == theirs.path and len(ways) == 1


def is_transposed(unit: Unit) -> bool:
    """Say whether a unit is of a transposed convolution, as its class or a name says."""
    return _TRANSPOSED in f"{unit.layer} {unit.path}".lower()


def fused_ways(parts: Sequence[Unit], whole: Unit, *, parts_are_mine: bool) -> Iterator[Fit]:
    """Yield the ways in which parts fill the whole."""
    shapes = [unit.shapes[WEIGHT] for unit in parts]
    wanted = whole.shapes.get(WEIGHT, ())
    kinds = {parts[0].kind, whole.kind}
    if len(wanted) == len(shapes[0]) == 2:
        turned = [swap_last_axes(shape) for shape in shapes]
        for fit, made, total in (
            (AS_IT_IS, shapes, wanted),
            (_TURNED, shapes, swap_last_axes(wanted)),
            (_TURNED, turned, wanted),
        ):
            if (fit != AS_IT_IS or kinds != {LINEAR, KERNEL}) and _fill(made, total):
                yield fit
    elif cross(parts[0], whole):
        for axes, split, rows in ((_PART_AXES, shapes, [wanted]), (_WHOLE_AXES, [wanted], shapes)):
            ways = [read_axes(axes).between(None, shape) for shape in split]
            made = [way.shapes[0] for way in ways if way is not None]
            joined = made if len(split) > 1 else rows
            if len(made) == len(ways) and _fill(joined, rows[0] if len(split) > 1 else made[0]):
                # a pattern leads from the reference's to the candidate's
                from_rows = parts_are_mine == (len(split) == 1)
                yield Fit(HEADS, axes if from_rows else inverse(axes))


def _fill(parts: Sequence[Shape], whole: Shape) -> bool:
    return {shape[1:] for shape in parts} == {whole[1:]} and sum(shape[0] for shape in parts) == whole[0]


def axes_of_biases(axes: str) -> str:
    """Return the pattern of the biases that belong to matrices: the same without the axis of inputs."""
    return " -> ".join(" ".join(part for part in side.split() if part != "e") for side in axes.split("->"))

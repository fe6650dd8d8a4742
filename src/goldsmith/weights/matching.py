"""Matching of weights without a rule: by shape, order, module, and names that contain q, k and v.

A step returns matches only where they are unambiguous. Everything that was assumed is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goldsmith.weights.axes import UNBUILT, Shape, can_reshape
from goldsmith.weights.fused import FusedMatrix, Side, common_sizes
from goldsmith.weights.rules import parts_named, without_parts

Shapes = Mapping[str, Shape]
_PARTS = "qkv"
_LEAVES = ("weight", "bias")


@dataclass(frozen=True)
class Match:
    """Weights that correspond. If a side has several, `mine` and `other` say which parts each holds, in `sizes`."""

    gold: tuple[str, ...]
    theirs: tuple[str, ...]
    mine: Side = (FusedMatrix(),)
    other: Side = (FusedMatrix(),)
    sizes: tuple[int, ...] = ()


Step = Callable[[Shapes, Shapes, Sequence[Match]], Sequence[Match]]


def next_matches(rest: Shapes, free: Shapes, known: Sequence[Match], *, plain: bool = False) -> Sequence[Match]:
    """Return the matches of the most reliable step that finds any between gold's weights `rest` and theirs in `free`.

    With `plain`, only matches of the same shape count.
    """
    for step in _STEPS:
        found = step(rest, free, known)
        if found and not (plain and any(one.sizes or rest[one.gold[0]] != free[one.theirs[0]] for one in found)):
            return found
    return ()


def _in_order(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match all weights, if both sides have the same shapes in the same order. Separate q, k and v count as the one
    matrix that they would form together."""
    mine, theirs = list(_collapse(rest)), list(_collapse(free))
    if [_join_shapes(unit, rest) for unit in mine] != [_join_shapes(unit, free) for unit in theirs]:
        return ()
    found = [_match_units(one, rest, two, free) for one, two in zip(mine, theirs, strict=True)]
    return [match for matches in found for match in matches] if all(found) else ()


def _collapse(shapes: Shapes) -> Iterator[tuple[str, ...]]:
    units = {name: unit for unit in _units(shapes) if _join_shapes(unit, shapes) is not None for name in unit}
    yield from dict.fromkeys(units.get(name, (name,)) for name in shapes)


def _by_part(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match q, k and v by name, if both sides name them, or one side does and the other has one matrix for all."""
    mine, theirs = list(_units(rest)), list(_units(free))
    return (
        _pair_units(mine, rest, theirs, free)
        or _pair_units([unit for unit in mine if len(unit) > 1], rest, [(name,) for name in free], free)
        or _pair_units([(name,) for name in rest], rest, [unit for unit in theirs if len(unit) > 1], free)
    )


def _units(shapes: Shapes) -> Iterator[tuple[str, ...]]:
    """Yield groups of siblings whose names together cover q, k and v, each once, in this order. Names that are alike
    but for that go together first: `q_norm` is no sibling of `k_proj`, and `q` may be one of `kv_proj`."""
    left = [name for name in shapes if parts_named(name)]
    for group in (without_parts, _around_parts):
        groups: dict[str, list[str]] = {}
        for name in left:
            groups.setdefault(group(name), []).append(name)
        for names in groups.values():
            ordered = sorted(names, key=lambda name: _PARTS.index(parts_named(name)[0]))
            if "".join(map(parts_named, ordered)) == _PARTS:
                yield tuple(ordered)
                left = [name for name in left if name not in names]


def _around_parts(name: str) -> str:
    components = name.split(".")
    at = max(index for index, component in enumerate(components) if parts_named(component))
    return ".".join([*components[:at], "*", *components[at + 1 :]])


def _pair_units(
    mine: Sequence[tuple[str, ...]], rest: Shapes, theirs: Sequence[tuple[str, ...]], free: Shapes
) -> list[Match]:
    """Pair units of the same joined shape in order, where both sides have equally many of it."""
    found: list[Match] = []
    sizes = {_join_shapes(unit, rest) for unit in mine} - {None}
    for size in sorted(sizes, key=str):
        pair = [
            [unit for unit in side if _join_shapes(unit, shapes) == size]
            for side, shapes in ((mine, rest), (theirs, free))
        ]
        if len(pair[0]) != len(pair[1]):
            continue
        for one, two in zip(*pair, strict=True):
            found += _match_units(one, rest, two, free)
    return found


def _join_shapes(unit: Sequence[str], shapes: Shapes) -> Shape | None:
    """Return the shape of a unit's matrices stacked along the first axis, None if they cannot be stacked."""
    if len(unit) == 1:
        return shapes[unit[0]]
    tails = {shapes[name][1:] for name in unit}
    if len(tails) != 1 or any(not shapes[name] or shapes[name] == UNBUILT for name in unit):
        return None
    return (sum(shapes[name][0] for name in unit), *tails.pop())


def _match_units(one: tuple[str, ...], rest: Shapes, two: tuple[str, ...], free: Shapes) -> list[Match]:
    mine, other = _held(one), _held(two)
    if mine == other:
        pairs = list(zip(one, two, strict=True))
        fits = all(rest[name] == free[partner] for name, partner in pairs)
        return [Match((name,), (partner,)) for name, partner in pairs] if fits else []
    return list(_fused(one, two, mine, other, rest, free))


def _held(unit: tuple[str, ...]) -> Side:
    return tuple(FusedMatrix(len(parts_named(name)) if len(unit) > 1 else len(_PARTS)) for name in unit)


def _fused(
    one: tuple[str, ...], two: tuple[str, ...], mine: Side, other: Side, rest: Shapes, free: Shapes
) -> Iterator[Match]:
    if _join_shapes(one, rest) is not None and _join_shapes(one, rest) == _join_shapes(two, free):
        sizes = common_sizes(mine, [rest[name][0] for name in one], other, [free[name][0] for name in two])
        if sizes is not None:
            yield Match(one, two, mine, other, sizes)


def _of_same_module(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match the other weights of a matched module: those of the same name, or the only one left on both sides."""
    mine, theirs = _by_module(rest), _by_module(free)
    for match in known:
        leaves = mine.get(_module(match.gold[0]), [])
        left = theirs.get(_module(match.theirs[0]), [])
        lone = len(match.gold) == len(match.theirs) == 1
        for leaf in leaves:
            one, two = (tuple(f"{_module(name)}.{leaf}" for name in side) for side in (match.gold, match.theirs))
            if lone and leaf not in left and len(leaves) == len(left) == 1:
                two = (f"{_module(match.theirs[0])}.{left[0]}",)
            if not (all(name in rest for name in one) and all(name in free for name in two)):
                continue
            if not lone:
                found = list(_fused(one, two, match.mine, match.other, rest, free))
            else:
                found = [Match(one, two)] if _same(rest[one[0]], free[two[0]]) else []
            if found:
                return found
    return ()


def _by_module(shapes: Shapes) -> dict[str, list[str]]:
    """Return the names of the unmatched weights of each submodule; those at the top level belong to none."""
    found: dict[str, list[str]] = {}
    for name in shapes:
        if "." in name:
            found.setdefault(_module(name), []).append(name.rpartition(".")[2])
    return found


def _of_same_name(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match weights of the same name whose shapes differ but hold the same numbers."""
    return [Match((name,), (name,)) for name, shape in rest.items() if name in free and can_reshape(shape, free[name])]


def _one_of_a_kind(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match one weight whose shape occurs once on both sides; matrices first, since their biases follow from them."""
    mine, theirs = Counter(rest.values()), Counter(free.values())
    for name, shape in sorted(rest.items(), key=lambda item: -len(item[1])):
        if mine[shape] == theirs[shape] == 1:
            return [Match((name,), tuple(other for other, its in free.items() if its == shape))]
    return ()


def _one_of_a_size(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match one weight that can be reshaped into exactly one weight of the other side, and the reverse."""
    for name, shape in rest.items():
        same = [other for other, its in free.items() if can_reshape(shape, its)]
        if len(same) == 1 and [item for item, its in rest.items() if can_reshape(its, free[same[0]])] == [name]:
            return [Match((name,), (same[0],))]
    return ()


def _three_in_order(rest: Shapes, free: Shapes, known: Sequence[Match]) -> Sequence[Match]:
    """Match three siblings of one shape with one matrix of three times as many rows, in the order of registration."""
    thirds, whole = (FusedMatrix(), FusedMatrix(), FusedMatrix()), (FusedMatrix(3),)
    for one, two in _threes(rest, free):
        found = list(_fused((one,), two, whole, thirds, rest, free))
        if found:
            return found
    for two_, one_ in _threes(free, rest):
        found = list(_fused(one_, (two_,), thirds, whole, rest, free))
        if found:
            return found
    return ()


def _threes(whole: Shapes, apart: Shapes) -> Iterator[tuple[str, tuple[str, ...]]]:
    groups: dict[tuple[str, Shape], list[str]] = {}
    for name, shape in apart.items():
        components = name.split(".")
        at = -2 if components[-1] in _LEAVES and len(components) > 1 else -1
        components[at] = "*"
        groups.setdefault((".".join(components), shape), []).append(name)
    threes = [tuple(names) for names in groups.values() if len(names) == 3]
    for size in dict.fromkeys(_join_shapes(names, apart) for names in threes):
        fitting = [names for names in threes if _join_shapes(names, apart) == size]
        wanted = [name for name, shape in whole.items() if shape == size]
        if size is not None and len(fitting) == len(wanted):
            yield from zip(wanted, fitting, strict=True)


def _same(one: Shape, two: Shape) -> bool:
    return one == two or can_reshape(one, two)


def _module(name: str) -> str:
    return name.rpartition(".")[0]


_STEPS: tuple[Step, ...] = (
    _in_order,
    _by_part,
    _of_same_module,
    _of_same_name,
    _one_of_a_kind,
    _three_in_order,
    _one_of_a_size,
)

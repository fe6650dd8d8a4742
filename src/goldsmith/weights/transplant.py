"""Transplant: which of a submission's weights correspond to which of gold's, and conversion of values both ways.

Equal names come first, then the rules of the course's adapter, then an unambiguous match of shapes in order, which is
always reported. Planning uses names and shapes only.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from goldsmith.weights.fused import BY_HEAD, Held, common_sizes, put_together, take_apart
from goldsmith.weights.matching import UNBUILT, Match, Shape, can_reshape, next_matches
from goldsmith.weights.rules import ALTERNATING, BLOCKS, BUILT_IN, BY_PIXEL, Adapter, Matrix, Rule, fill, match, unclear

BY_NAME, BY_RULE, BY_SHAPE = "name", "rule", "shape"


class CannotPlace(Exception):
    """Gold's weights that have no place in a submission's model, by name on both sides; `reasons` come from rules."""

    def __init__(self, unplaced: Mapping[str, Shape], free: Mapping[str, Shape], reasons: Sequence[str] = ()) -> None:
        self.unplaced, self.free, self.reasons = dict(unplaced), dict(free), tuple(reasons)
        super().__init__(". ".join([self._sentence(), *reasons]))

    def _sentence(self) -> str:
        """Describe the problem in terms of the submission's model."""
        listed = [f"{name} ({_size(shape)}){self._closest(name, shape)}" for name, shape in self.unplaced.items()]
        more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
        left = ", ".join(f"{name} ({_size(shape)})" for name, shape in list(self.free.items())[:8]) or "nothing"
        rest = f" and {len(self.free) - 8} more" if len(self.free) > 8 else ""
        in_doubt = all(shape in self.free.values() for shape in self.unplaced.values())
        has = "more than one layer that could match" if in_doubt else "no layer that matches"
        return f"your model has {has} {'; '.join(listed[:6])}{more}. Left over in your model: {left}{rest}"

    def _closest(self, name: str, shape: Shape) -> str:
        """Suggest weights of theirs that may be meant: those of the same shape if any, the most similar names first."""
        same = [other for other, its in self.free.items() if its == shape]
        near = difflib.get_close_matches(name, same or list(self.free), n=2, cutoff=0.0 if same else 0.5)
        return f", closest: {', '.join(near)}" if near else ""


@dataclass(frozen=True)
class Placed(Match):
    """Weights that correspond, and why: the same name, a rule, or shape and order. `shapes` are gold's and theirs where
    the same numbers have different shapes."""

    how: str = BY_NAME
    rule: Rule = field(default_factory=lambda: Rule((), ()))
    shapes: tuple[Shape, Shape] | None = None

    def carry(self, gold: Sequence[Any]) -> list[Any]:
        """Convert gold's tensors to theirs."""
        found = list(gold)
        if self.sizes:
            found = put_together(take_apart(gold, self.mine, self.sizes), self.other)
        elif self.shapes is not None:
            found = [_reshape(item, *self.shapes, self.rule.axes) for item in gold]
        return [_transpose(item) if self.rule.transpose else item for item in found]

    def bring_back(self, theirs: Sequence[Any]) -> list[Any]:
        """Convert their tensors to gold's, for gradients and trained weights."""
        flat = [_transpose(item) if self.rule.transpose else item for item in theirs]
        if self.sizes:
            return put_together(take_apart(flat, self.other, self.sizes), self.mine)
        return flat if self.shapes is None else [_reshape(item, *self.shapes[::-1], self.rule.axes) for item in flat]

    @property
    def words(self) -> str:
        other_shape = f" ({_size(self.shapes[0])} as {_size(self.shapes[1])})" if self.shapes else ""
        return f"{' + '.join(self.theirs)} for {' + '.join(self.gold)}{other_shape}"


@dataclass(frozen=True)
class Transplant:
    """The whole plan for one model. `extra` are weights of theirs that gold has no values for."""

    placed: tuple[Placed, ...] = ()
    extra: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        found = []
        renamed = [item for item in self.placed if item.how == BY_RULE]
        if renamed:
            used = dict.fromkeys(item.rule.words for item in renamed)
            found.append(f"weights placed by the adapter: {'; '.join(used)}")
        for said, items in self._assumed().items():
            if items:
                shown = 4 if len(items[0].gold) == len(items[0].theirs) == 1 else 2
                more = f" and {len(items) - shown} more" if len(items) > shown else ""
                found.append(f"{said}: {', '.join(item.words for item in items[:shown])}{more}")
        if self.extra:
            names = ", ".join(self.extra[:4]) + (f" and {len(self.extra) - 4} more" if len(self.extra) > 4 else "")
            found.append(f"gold has no values for its {names}; left as they were built")
        return found

    def _assumed(self) -> dict[str, list[Placed]]:
        guessed = [item for item in self.placed if item.how == BY_SHAPE]
        whole, flat = [item for item in guessed if item.sizes], [item for item in guessed if item.shapes]
        return {
            "weights matched by shape and order": [
                item for item in guessed if not item.sizes and not item.shapes and not item.rule.transpose
            ],
            "weights stored the other way round": [item for item in guessed if item.rule.transpose and not item.sizes],
            "weights put together, all rows of one before the next": [
                item for item in whole if not _is_otherwise(item)
            ],
            "weights put together, rows alternating head by head": [item for item in whole if _is_otherwise(item)],
            "weights of another shape, numbers in the same order": [item for item in flat if not _is_otherwise(item)],
            "weights of another shape, pixel by pixel": [item for item in flat if _is_otherwise(item)],
        }

    def to_gold(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        """Convert values by their names to values by gold's names; a gradient that is None stays None."""
        found: dict[str, Any] = {}
        for item in self.placed:
            values = [theirs.get(name) for name in item.theirs]
            if any(name not in theirs for name in item.theirs):
                continue
            if all(value is None for value in values):
                found |= dict.fromkeys(item.gold)
                continue
            if any(value is None for value in values):
                continue
            found |= dict(zip(item.gold, item.bring_back(values), strict=True))
        return found


def plan(
    gold: Mapping[str, Shape],
    theirs: Mapping[str, Shape],
    adapter: Adapter,
    layout: str,
    settings: Mapping[str, Any],
    *,
    plain: bool = False,
    turned: Collection[str] = (),
) -> Transplant:
    """Decide where every weight in `gold` goes; with `plain`, without a change of shape. Those of theirs that are
    `turned` are stored the other way round.

    Raises `CannotPlace` if a weight has no place.
    """
    if turned:
        other = {name: _swap_last_axes(shape) if name in turned else shape for name, shape in theirs.items()}
        whole = plan(gold, other, adapter, layout, settings, plain=plain)
        moved = (_transposing(item) if set(item.theirs) & set(turned) else item for item in whole.placed)
        return replace(whole, placed=tuple(moved))
    rest, free = dict(gold), dict(theirs)
    placed: list[Placed] = []
    reasons: dict[str, str] = {}

    def place(item: Placed) -> None:
        placed.append(item)
        for name in item.gold:
            del rest[name]
        for name in item.theirs:
            del free[name]

    def apply(rules: Iterable[Rule]) -> None:
        for rule in rules:
            for mine, other in _named(rule, rest, free):
                item = _fitting(rule, mine, other, rest, free, settings)
                if isinstance(item, Placed):
                    place(item)
                elif item:
                    reasons[mine[0]] = item

    apply(adapter.layouts.get(layout, ()))
    for name in [name for name, shape in rest.items() if free.get(name) in (shape, UNBUILT)]:
        place(Placed((name,), (name,)))
    apply(adapter.rules)
    for name in [name for name in rest if adapter.excuses(name)]:
        del rest[name]
    for name in [name for name in free if any(match(item, name) is not None for item in adapter.without_theirs)]:
        del free[name]
    doubts = list(dict.fromkeys(reason for name, reason in reasons.items() if name in rest))
    while not doubts and (found := next_matches(rest, free, placed, plain=plain)):
        for one in found:
            place(_guess(one, rest, free, layout, settings))
    if layout in BUILT_IN and not any(_is_otherwise(item) for item in placed):
        raise CannotPlace(gold, theirs, ["nothing is taken for granted that could be otherwise"])
    if rest:
        raise CannotPlace(rest, free, doubts)
    return Transplant(tuple(placed), tuple(free))


def _transposing(item: Placed) -> Placed:
    """Return a placement of weights that are stored the other way round, of which the plan knew only the other way."""
    return replace(item, how=BY_SHAPE, rule=replace(item.rule, transpose=not item.rule.transpose))


def _guess(
    found: Match, rest: Mapping[str, Shape], free: Mapping[str, Shape], layout: str, settings: Mapping[str, Any]
) -> Placed:
    """Return the placement of a match under the default assumptions, or under the layout that is being tried."""
    gold, theirs = rest[found.gold[0]], free[found.theirs[0]]
    mine, other, rule = found.mine, found.other, Rule((), ())
    shapes = (gold, theirs) if gold != theirs and not found.sizes else None
    heads = {value for key, value in settings.items() if re.fullmatch(r"n?(um)?_?heads?", key) and type(value) is int}
    if layout == ALTERNATING and found.sizes and len(heads) == 1:
        fused = [replace(held, order=BY_HEAD, heads=max(heads)) if held.parts > 1 else held for held in other]
        if tuple(fused) != other:
            other = tuple(fused)
        else:
            mine = tuple(replace(held, order=BY_HEAD, heads=max(heads)) if held.parts > 1 else held for held in mine)
        if common_sizes(mine, _rows(found.gold, rest), other, _rows(found.theirs, free)) != found.sizes:
            mine, other = found.mine, found.other
    if layout == BY_PIXEL and shapes and sorted(map(len, shapes)) == [2, 4]:
        rule = Rule((), (), axes=(0, 2, 3, 1))
    return Placed(found.gold, found.theirs, mine, other, found.sizes, BY_SHAPE, rule, shapes)


def _rows(names: Sequence[str], shapes: Mapping[str, Shape]) -> list[int]:
    return [shapes[name][0] for name in names]


def _is_otherwise(item: Placed) -> bool:
    """Return whether a guess differs from the default assumptions, as the layout being tried says."""
    alternating = any(held.order != BLOCKS for held in (*item.mine, *item.other))
    return item.how == BY_SHAPE and (alternating or bool(item.rule.axes))


def _named(
    rule: Rule, rest: dict[str, Shape], free: dict[str, Shape]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield unplaced weights on both sides that match the names of a rule."""
    for name in list(rest):
        stars = match(rule.gold[0].name, name)
        if stars is None:
            continue
        mine = tuple(fill(item.name, stars) for item in rule.gold)
        other = tuple(fill(item.name, stars) for item in rule.theirs)
        if all(item in rest for item in mine) and all(item in free for item in other):
            yield mine, other


def _fitting(
    rule: Rule,
    mine: tuple[str, ...],
    other: tuple[str, ...],
    rest: Mapping[str, Shape],
    free: Mapping[str, Shape],
    settings: Mapping[str, Any],
) -> Placed | str:
    """Return the rule applied to these names, or why it is ambiguous; an empty string if the sizes rule it out."""
    wanted = [rest[name] for name in mine]
    found = [_swap_last_axes(free[name]) if rule.transpose else free[name] for name in other]
    if rule.parts == 1:
        return _renamed(rule, mine, other, wanted[0], found[0]) or ""
    if any(not shape for shape in (*wanted, *found)) or len({shape[1:] for shape in (*wanted, *found)}) != 1:
        return ""
    my_rows, other_rows = [shape[0] for shape in wanted], [shape[0] for shape in found]
    if sum(my_rows) != sum(other_rows):
        return ""
    matrices = (*rule.gold, *rule.theirs)
    doubt = unclear(rule, dict(zip((item.name for item in matrices), (*my_rows, *other_rows), strict=True)))
    if doubt:
        return doubt
    unknown = [item.heads for item in matrices if isinstance(item.heads, str) and item.heads not in settings]
    if unknown and any(item.order != BLOCKS for item in matrices):
        return f"the adapter's rule {rule.words} asks for {unknown[0]}, which is not a setting of the model"
    sides = [tuple(_held(item, settings) for item in side) for side in (rule.gold, rule.theirs)]
    sizes = common_sizes(sides[0], my_rows, sides[1], other_rows)
    return Placed(mine, other, sides[0], sides[1], sizes, BY_RULE, rule) if sizes else ""


def _renamed(rule: Rule, mine: tuple[str, ...], other: tuple[str, ...], gold: Shape, theirs: Shape) -> Placed | None:
    if rule.axes:
        long, short = (gold, theirs) if len(gold) >= len(theirs) else (theirs, gold)
        fits = len(long) == len(rule.axes) and can_reshape(tuple(long[axis] for axis in rule.axes), short)
    else:
        fits = gold == theirs or (not rule.transpose and can_reshape(gold, theirs))
    shapes = (gold, theirs) if rule.axes or gold != theirs else None
    return Placed(mine, other, how=BY_RULE, rule=rule, shapes=shapes) if fits else None


def _held(matrix: Matrix, settings: Mapping[str, Any]) -> Held:
    heads = settings.get(matrix.heads, 1) if isinstance(matrix.heads, str) else matrix.heads
    return Held(matrix.parts, matrix.order, int(heads))


def _transpose(tensor: Any) -> Any:
    return tensor.mT if tensor.dim() >= 2 else tensor


def _reshape(tensor: Any, before: Shape, after: Shape, axes: Sequence[int]) -> Any:
    """Return the same numbers in another shape; `axes` refer to the shape that has more of them."""
    if not axes:
        return tensor.reshape(after)
    if len(before) == len(axes):
        return tensor.permute(*axes).reshape(after)
    whole = tensor.reshape([after[axis] for axis in axes])
    return whole.permute(*(axes.index(axis) for axis in range(len(axes))))


def _swap_last_axes(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def _size(shape: Shape) -> str:
    return "of any shape" if shape == UNBUILT else "×".join(map(str, shape)) or "scalar"

"""Transplant: which of a submission's weights correspond to which of gold's, and conversion of values both ways.

Equal names come first, then the rules of the course's adapter, then an unambiguous match of shapes in order, which is
always reported. Planning uses names and shapes only.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldsmith.runs.notes import MAX_ITEMS, Names, Note, NoteKind
from goldsmith.weights.axes import UNBUILT, Shape, arrangement, read_axes, swap_last_axes
from goldsmith.weights.fused import BY_HEAD, FusedMatrix, common_sizes
from goldsmith.weights.matching import Match, next_matches
from goldsmith.weights.placement import BY_RULE, BY_SHAPE, GOLD, THEIRS, Placed, size_words
from goldsmith.weights.rules import (
    ALTERNATING,
    BLOCKS,
    BUILT_IN,
    BY_PIXEL,
    INDEX,
    Adapter,
    Matrix,
    Rule,
    fill,
    match,
    unclear,
)


class CannotPlace(Exception):
    """Gold's weights that have no place in a submission's model, by name on both sides; `reasons` come from rules.
    `idle` are rules that placed nothing."""

    def __init__(
        self,
        unplaced: Mapping[str, Shape],
        free: Mapping[str, Shape],
        reasons: Sequence[str] = (),
        idle: Sequence[Rule] = (),
    ) -> None:
        self.unplaced, self.free, self.reasons, self.idle = dict(unplaced), dict(free), tuple(reasons), tuple(idle)
        super().__init__(". ".join([self._sentence(), *reasons]))

    def _sentence(self) -> str:
        """Describe the problem in terms of the submission's model."""
        first = itertools.islice(self.unplaced.items(), 6)
        listed = [f"{name} ({size_words(shape)}){self._closest(name, shape)}" for name, shape in first]
        more = f" and {len(self.unplaced) - 6} more" if len(self.unplaced) > 6 else ""
        left = ", ".join(f"{name} ({size_words(shape)})" for name, shape in list(self.free.items())[:8]) or "nothing"
        rest = f" and {len(self.free) - 8} more" if len(self.free) > 8 else ""
        in_doubt = all(shape in self.free.values() for shape in self.unplaced.values())
        has = "more than one layer that could match" if in_doubt else "no layer that matches"
        return f"your model has {has} {'; '.join(listed)}{more}. Left over in your model: {left}{rest}"

    def _closest(self, name: str, shape: Shape) -> str:
        """Suggest weights of theirs that may be meant: those of the same shape if any, the most similar names first."""
        same = [other for other, its in self.free.items() if its == shape]
        near = difflib.get_close_matches(name, same or list(self.free), n=2, cutoff=0.0 if same else 0.5)
        return f", closest: {', '.join(near)}" if near else ""


@dataclass(frozen=True)
class Transplant:
    """The whole plan for one model. `extra` are weights of theirs that gold has no values for, `idle` are rules that
    placed nothing."""

    placed: tuple[Placed, ...] = ()
    extra: tuple[str, ...] = ()
    idle: tuple[Rule, ...] = ()

    def notes(self) -> list[Note]:
        found = []
        used = dict.fromkeys(item.rule.names for item in self.placed if item.how == BY_RULE)
        if used:
            found.append(Note("adapter", tuple(used)[:MAX_ITEMS], max(0, len(used) - MAX_ITEMS)))
        for kind, items in self._assumed().items():
            if items:
                shown = 4 if len(items[0].gold) == len(items[0].theirs) == 1 else 2
                found.append(Note(kind, tuple(item.names for item in items[:shown]), max(0, len(items) - shown)))
        if self.extra:
            found.append(Note("extra", (Names(theirs=self.extra[:4]),), max(0, len(self.extra) - 4)))
        return found

    def _assumed(self) -> dict[NoteKind, list[Placed]]:
        guessed = [item for item in self.placed if item.how == BY_SHAPE]
        whole, flat = [item for item in guessed if item.sizes], [item for item in guessed if item.shapes]
        return {
            "shape-and-order": [
                item for item in guessed if not item.sizes and not item.shapes and not item.rule.transpose
            ],
            "turned": [item for item in guessed if item.rule.transpose and not item.sizes],
            "stacked": [item for item in whole if not _is_otherwise(item)],
            "stacked-by-head": [item for item in whole if _is_otherwise(item)],
            "reshaped": [item for item in flat if not _is_otherwise(item)],
            "reshaped-by-pixel": [item for item in flat if _is_otherwise(item)],
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
        return _plan_turned(gold, theirs, adapter, layout, settings, turned)
    rest, free = dict(gold), dict(theirs)
    placed: list[Placed] = []
    reasons: dict[str, str] = {}
    used: list[Rule] = []

    def place(item: Placed) -> None:
        placed.append(item)
        for name in item.gold:
            del rest[name]
        for name in item.theirs:
            del free[name]

    def apply(rules: Iterable[Rule]) -> None:
        for rule in rules:
            for mine, other in _named(rule, rest, free):
                item = _Fitting(rule, mine, other, rest, free, settings).place()
                if isinstance(item, Placed):
                    place(item)
                    used.append(rule)
                elif item:
                    reasons[mine[0]] = item

    apply(adapter.layouts.get(layout, ()))
    if adapter.rules_first:
        apply(adapter.rules)
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
    idle = [rule for rule in adapter.rules if rule not in used]
    if rest:
        raise CannotPlace(rest, free, doubts, idle)
    return Transplant(tuple(placed), tuple(free), tuple(idle))


def _plan_turned(
    gold: Mapping[str, Shape],
    theirs: Mapping[str, Shape],
    adapter: Adapter,
    layout: str,
    settings: Mapping[str, Any],
    turned: Collection[str],
) -> Transplant:
    """Plan with some of theirs stored the other way round. What rules say is taken as it is said."""
    placed: list[Placed] = []
    rest, free = dict(gold), dict(theirs)
    for rule in adapter.rules:
        for mine, other in _named(rule, rest, free):
            item = _Fitting(rule, mine, other, rest, free, settings).place()
            if isinstance(item, Placed):
                placed.append(item)
                rest = {name: shape for name, shape in rest.items() if name not in mine}
                free = {name: shape for name, shape in free.items() if name not in other}
    swapped = {name: swap_last_axes(shape) if name in turned else shape for name, shape in free.items()}
    whole = plan(rest, swapped, replace(adapter, rules=[]), layout, settings)
    moved = (_transposing(item) if set(item.theirs) & set(turned) else item for item in whole.placed)
    idle = tuple(rule for rule in adapter.rules if all(item.rule != rule for item in placed))
    return Transplant((*placed, *moved), whole.extra, idle)


def fits_any(rule: Rule, gold: Mapping[str, Shape], theirs: Mapping[str, Shape]) -> bool:
    """Return whether a rule would place anything, if nothing else had a place."""
    return any(_Fitting(rule, mine, other, gold, theirs, {}).place() for mine, other in _named(rule, gold, theirs))


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
        if common_sizes(mine, _first_sizes(found.gold, rest), other, _first_sizes(found.theirs, free)) != found.sizes:
            mine, other = found.mine, found.other
    if layout == BY_PIXEL and shapes and sorted(map(len, shapes)) == [2, 4]:
        rule = Rule((), (), axes=(0, 2, 3, 1))
    return Placed(found.gold, found.theirs, mine, other, found.sizes, BY_SHAPE, rule, shapes)


def _first_sizes(names: Sequence[str], shapes: Mapping[str, Shape]) -> list[int]:
    return [shapes[name][0] for name in names]


def _is_otherwise(item: Placed) -> bool:
    """Return whether a guess differs from the default assumptions, as the layout being tried says."""
    alternating = any(held.order != BLOCKS for held in (*item.mine, *item.other))
    return item.how == BY_SHAPE and (alternating or bool(item.rule.axes))


def _named(
    rule: Rule, rest: Mapping[str, Shape], free: Mapping[str, Shape]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield unplaced weights on both sides that match the names of a rule; where one side has an index, all that are
    there, from 0 on."""
    indexed = [INDEX in side[0].name for side in (rule.gold, rule.theirs)]
    for name in list(rest):
        stars = match(_at(rule.gold[0].name, 0), name)
        if stars is None:
            continue
        mine, other = ([fill(item.name, stars) for item in side] for side in (rule.gold, rule.theirs))
        if indexed[0]:
            mine = list(_numbered(mine, rest))
        elif indexed[1]:
            other = list(_numbered(other, free))
        if mine and other and all(item in rest for item in mine) and all(item in free for item in other):
            yield tuple(mine), tuple(other)


def _at(pattern: str, index: int) -> str:
    return pattern.replace(INDEX, str(index))


def _numbered(names: Sequence[str], there: Mapping[str, Shape]) -> Iterator[str]:
    """Yield names with 0, 1, 2 and so on in the place of the index, as long as all of them are there."""
    index = 0
    while all(_at(name, index) in there for name in names):
        yield from (_at(name, index) for name in names)
        index += 1


@dataclass(frozen=True)
class _Fitting:
    """A rule on weights of both sides that have its names. Each method returns it applied to them, or why that is
    ambiguous; an empty string if the sizes rule it out."""

    rule: Rule
    mine: tuple[str, ...]
    other: tuple[str, ...]
    rest: Mapping[str, Shape]
    free: Mapping[str, Shape]
    settings: Mapping[str, Any]

    def place(self) -> Placed | str:
        rule = self.rule
        if rule.indexed:
            return self._stack()
        wanted, found = [self.rest[name] for name in self.mine], [self.free[name] for name in self.other]
        if rule.parts == 1:
            theirs = swap_last_axes(found[0]) if rule.transpose else found[0]
            return self._renamed(wanted[0], theirs) or ""
        if isinstance(rule.axes, str):
            return self._rows_by_axes(rule.axes, wanted, found)
        if not rule.transpose:
            return self._rows(wanted, found)
        turned = self._rows(wanted, [swap_last_axes(shape) for shape in found])
        if turned:
            return turned
        placed = self._rows([swap_last_axes(shape) for shape in wanted], found)
        return replace(placed, turned=True) if isinstance(placed, Placed) else placed

    def _rows_by_axes(self, spelt: str, wanted: Sequence[Shape], found: Sequence[Shape]) -> Placed | str:
        """Fit a rule that names the axes of matrices which are split or fused: of theirs, else of gold's."""
        axes, doubt = read_axes(spelt), ""
        for turned in (False, True):
            ways = [
                axes.between(shape, None) if turned else axes.between(None, shape)
                for shape in (wanted if turned else found)
            ]
            known = [way for way in ways if way is not None]
            if len(known) < len(ways):
                continue
            rows = [way.shapes[turned] for way in known]
            placed = self._rows(rows, found) if turned else self._rows(wanted, rows)
            if isinstance(placed, Placed):
                return replace(placed, turned=turned, ways=tuple(known))
            doubt = doubt or placed
        return doubt

    def _stack(self) -> Placed | str:
        """Fit a rule whose one side has a tensor for several weights of the other: index by index, as for one of
        them."""
        rule, rest, free = self.rule, self.rest, self.free
        stacked = THEIRS if rule.indexed == GOLD else GOLD
        whole, apart = (self.mine, self.other) if stacked == GOLD else (self.other, self.mine)
        shapes, others = (rest, free) if stacked == GOLD else (free, rest)
        width = len(rule.theirs if stacked == GOLD else rule.gold)
        count = len(apart) // width
        alike = all(others[name] == others[apart[number % width]] for number, name in enumerate(apart))
        if not alike or any(shapes[name][:1] != (count,) for name in whole):
            return ""
        inner = {name: shapes[name][1:] for name in whole}
        first = {name: others[name] for name in apart[:width]}
        plain = replace(rule, indexed="")
        sides = (whole, apart[:width], inner, first) if stacked == GOLD else (apart[:width], whole, first, inner)
        found = _Fitting(plain, *sides, self.settings).place()
        if not isinstance(found, Placed):
            return found
        return replace(found, gold=self.mine, theirs=self.other, rule=rule, stacked=stacked, count=count)

    def _rows(self, wanted: Sequence[Shape], found: Sequence[Shape]) -> Placed | str:
        """Return matrices of these shapes split or fused along their first axis."""
        rule, settings = self.rule, self.settings
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
        return Placed(self.mine, self.other, sides[0], sides[1], sizes, BY_RULE, rule) if sizes else ""

    def _renamed(self, gold: Shape, theirs: Shape) -> Placed | None:
        rule = self.rule
        fits = gold == theirs and not rule.axes
        fits = fits or (not rule.transpose and arrangement(rule.axes, gold, theirs) is not None)
        shapes = (gold, theirs) if rule.axes or gold != theirs else None
        return Placed(self.mine, self.other, how=BY_RULE, rule=rule, shapes=shapes) if fits else None


def _held(matrix: Matrix, settings: Mapping[str, Any]) -> FusedMatrix:
    heads = settings.get(matrix.heads, 1) if isinstance(matrix.heads, str) else matrix.heads
    return FusedMatrix(matrix.parts, matrix.order, int(heads))

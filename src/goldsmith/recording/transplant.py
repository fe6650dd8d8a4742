"""Transplant: which of a submission's weights are which of gold's, and the numbers carried across, both ways.

Same names first; then the rules of the course's adapter; then an unambiguous match of shapes in order, which is always
reported. Planning looks at names and shapes only.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.recording.rules import BLOCKS, Adapter, Rule, fill, match

Shape = tuple[int, ...]
BY_NAME, BY_RULE, BY_SHAPE = "name", "rule", "shape"
UNBUILT: Shape = (-1,)
"""The shape of a weight that takes on whatever shape comes first."""


class CannotPlace(Exception):
    """Weights of gold's that have no place in a submission's model, by name on both sides."""

    def __init__(self, unplaced: Mapping[str, Shape], free: Mapping[str, Shape]) -> None:
        self.unplaced, self.free = dict(unplaced), dict(free)
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        listed = [f"{name} {_size(shape)}{self._closest(name, shape)}" for name, shape in self.unplaced.items()]
        more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
        left = ", ".join(f"{name} {_size(shape)}" for name, shape in list(self.free.items())[:8]) or "none"
        rest = f" and {len(self.free) - 8} more" if len(self.free) > 8 else ""
        return f"no place for gold's {'; '.join(listed[:6])}{more}. Weights of theirs that are left: {left}{rest}"

    def _closest(self, name: str, shape: Shape) -> str:
        """Theirs that might be meant: of the same shape where there are any, the most similar names first."""
        same = [other for other, its in self.free.items() if its == shape]
        near = difflib.get_close_matches(name, same or list(self.free), n=2, cutoff=0.0 if same else 0.5)
        return f" (closest: {', '.join(near)})" if near else ""


@dataclass(frozen=True)
class Placed:
    """Weights that belong together, and why: the same name, a rule, or shape and order."""

    gold: tuple[str, ...]
    theirs: tuple[str, ...]
    how: str
    rule: Rule = field(default_factory=lambda: Rule((), ()))
    heads: int = 1
    sizes: tuple[int, ...] = ()

    def carry(self, gold: Sequence[Any]) -> list[Any]:
        """Gold's tensors as theirs."""
        if self.rule.parts == 1:
            return [_transposed(item) if self.rule.transpose else item for item in gold]
        parts = _to_parts(gold, self.rule.gold_order, self.rule.parts, self.heads, self.sizes)
        found = _from_parts(parts, self.theirs, self.rule.theirs_order, self.heads)
        return [_transposed(item) if self.rule.transpose else item for item in found]

    def bring_back(self, theirs: Sequence[Any]) -> list[Any]:
        """Theirs as gold's, for gradients and trained weights."""
        flat = [_transposed(item) if self.rule.transpose else item for item in theirs]
        if self.rule.parts == 1:
            return flat
        parts = _to_parts(flat, self.rule.theirs_order, self.rule.parts, self.heads, self.sizes)
        return _from_parts(parts, self.gold, self.rule.gold_order, self.heads)


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
        guessed = [item for item in self.placed if item.how == BY_SHAPE]
        if guessed:
            pairs = [f"{item.theirs[0]} for {item.gold[0]}" for item in guessed]
            more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
            found.append(f"weights matched by shape and order: {', '.join(pairs[:4])}{more}")
        if self.extra:
            names = ", ".join(self.extra[:4]) + (f" and {len(self.extra) - 4} more" if len(self.extra) > 4 else "")
            found.append(f"gold has no values for its {names}; left as they were built")
        return found

    def to_gold(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        """Values by their names as values by gold's: a gradient that is None stays None."""
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
    gold: Mapping[str, Shape], theirs: Mapping[str, Shape], adapter: Adapter, layout: str, settings: Mapping[str, Any]
) -> Transplant:
    """Where every weight in `gold` goes. Raises `CannotPlace` where one has no place."""
    rest, free = dict(gold), dict(theirs)
    placed: list[Placed] = []

    def place(item: Placed) -> None:
        placed.append(item)
        for name in item.gold:
            del rest[name]
        for name in item.theirs:
            del free[name]

    declared = adapter.layouts.get(layout, ())
    for rule in declared:
        _apply(rule, rest, free, settings, place)
    for name in [name for name, shape in rest.items() if free.get(name) in (shape, UNBUILT)]:
        place(Placed((name,), (name,), BY_NAME))
    for rule in adapter.rules:
        _apply(rule, rest, free, settings, place)
    for name in [name for name in rest if adapter.excuses(name)]:
        del rest[name]
    for name in [name for name in free if any(match(item, name) is not None for item in adapter.without_theirs)]:
        del free[name]
    for name, other in _by_shape(rest, free):
        place(Placed((name,), (other,), BY_SHAPE))
    if rest:
        raise CannotPlace(rest, free)
    return Transplant(tuple(placed), tuple(free))


def _apply(rule: Rule, rest: dict[str, Shape], free: dict[str, Shape], settings: Mapping[str, Any], place: Any) -> None:
    for name in list(rest):
        stars = match(rule.gold[0], name)
        if stars is None:
            continue
        mine = tuple(fill(pattern, stars) for pattern in rule.gold)
        other = tuple(fill(pattern, stars) for pattern in rule.theirs)
        if not all(item in rest for item in mine) or not all(item in free for item in other):
            continue
        item = _fitting(rule, mine, other, rest, free, settings)
        if item is not None:
            place(item)


def _fitting(
    rule: Rule,
    mine: tuple[str, ...],
    other: tuple[str, ...],
    rest: Mapping[str, Shape],
    free: Mapping[str, Shape],
    settings: Mapping[str, Any],
) -> Placed | None:
    """The rule applied to these names, if the sizes allow it."""
    wanted = [rest[name] for name in mine]
    found = [_turned(free[name]) if rule.transpose else free[name] for name in other]
    if rule.parts == 1:
        return Placed(mine, other, BY_RULE, rule) if wanted == found else None
    if any(not shape for shape in (*wanted, *found)) or len({shape[1:] for shape in (*wanted, *found)}) != 1:
        return None
    total = sum(shape[0] for shape in wanted)
    if total != sum(shape[0] for shape in found):
        return None
    heads = settings.get(rule.heads, 1) if isinstance(rule.heads, str) else rule.heads
    apart = wanted if len(wanted) == rule.parts else found
    sizes = [shape[0] for shape in apart] if len(apart) == rule.parts else [total // rule.parts] * rule.parts
    ordered = rule.gold_order != BLOCKS or rule.theirs_order != BLOCKS
    if sum(sizes) != total or (ordered and (len(set(sizes)) != 1 or sizes[0] % int(heads))):
        return None
    return Placed(mine, other, BY_RULE, rule, int(heads), tuple(sizes))


def _by_shape(rest: Mapping[str, Shape], free: Mapping[str, Shape]) -> list[tuple[str, str]]:
    """All in order where both sides have the same shapes in the same order; else only what is one of a kind."""
    if list(rest.values()) == list(free.values()):
        return list(zip(rest, free, strict=True))
    found = []
    for name, shape in rest.items():
        same = [other for other, its in free.items() if its == shape]
        if len(same) == 1 and sum(its == shape for its in rest.values()) == 1:
            found.append((name, same[0]))
    return found


def _to_parts(fused: Sequence[Any], order: str, count: int, heads: int, sizes: Sequence[int]) -> list[Any]:
    if len(fused) == count:
        return list(fused)
    (whole,) = fused
    if order == BLOCKS:
        return list(whole.split(list(sizes)))
    rows = whole.shape[0] // count // heads
    axis = 1 if order == "head part row" else 2
    shape = (heads, count, rows) if axis == 1 else (heads, rows, count)
    return [item.reshape(-1, *whole.shape[1:]) for item in whole.reshape(*shape, *whole.shape[1:]).unbind(axis)]


def _from_parts(parts: Sequence[Any], names: Sequence[str], order: str, heads: int) -> list[Any]:
    import torch

    if len(names) == len(parts):
        return list(parts)
    if order == BLOCKS:
        return [torch.cat(list(parts))]
    split = [item.reshape(heads, -1, *item.shape[1:]) for item in parts]
    whole = torch.stack(split, dim=1 if order == "head part row" else 2)
    return [whole.reshape(-1, *parts[0].shape[1:])]


def _transposed(tensor: Any) -> Any:
    return tensor.mT if tensor.dim() >= 2 else tensor


def _turned(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def _size(shape: Shape) -> str:
    return "of any shape" if shape == UNBUILT else "×".join(map(str, shape)) or "scalar"

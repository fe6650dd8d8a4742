"""One placement of weights: which of gold's are which of theirs, and conversion of the numbers both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.frameworks.framework import arrays_of
from goldsmith.runs.notes import Names
from goldsmith.weights.axes import UNBUILT, Arrangement, Shape, arrangement, transposed
from goldsmith.weights.fused import put_together, take_apart
from goldsmith.weights.matching import Match
from goldsmith.weights.rules import Rule

BY_NAME, BY_RULE, BY_SHAPE = "name", "rule", "shape"
GOLD, THEIRS = "gold", "theirs"


@dataclass(frozen=True)
class Placed(Match):
    """Weights that correspond, and why: the same name, a rule, or shape and order. `shapes` are gold's and theirs where
    the same numbers have different shapes. If `turned`, gold's matrices are transposed before they are split or fused;
    otherwise theirs are, after it, where the rule says that they are the other way round. `ways` are the same for a
    rule that names axes: those from gold's to rows if `turned`, else those from rows to theirs.

    `stacked` is the side that holds one tensor for `count` weights of the other, which are named index by index: all
    with the first index, then all with the second.
    """

    how: str = BY_NAME
    rule: Rule = field(default_factory=lambda: Rule((), ()))
    shapes: tuple[Shape, Shape] | None = None
    turned: bool = False
    ways: tuple[Arrangement, ...] = ()
    stacked: str = ""
    count: int = 1

    def carry(self, gold: Sequence[Any]) -> list[Any]:
        """Convert gold's tensors to theirs."""
        return self._each(gold, GOLD, self._carry)

    def bring_back(self, theirs: Sequence[Any]) -> list[Any]:
        """Convert their tensors to gold's, for gradients and trained weights."""
        return self._each(theirs, THEIRS, self._bring_back)

    def _each(self, tensors: Sequence[Any], side: str, convert: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Convert index by index, if one side is stacked."""
        if not self.stacked:
            return convert(tensors)
        if self.stacked == side:
            return [item for index in range(self.count) for item in convert([tensor[index] for tensor in tensors])]
        width = len(tensors) // self.count
        converted = [convert(tensors[start : start + width]) for start in range(0, len(tensors), width)]
        return [arrays_of(items[0]).stack(items) for items in zip(*converted, strict=True)]

    def _carry(self, gold: Sequence[Any]) -> list[Any]:
        if not self.sizes:
            return [self._moved(gold[0])]
        rows = self._turned(gold, carry=True) if self.turned else gold
        found = put_together(take_apart(rows, self.mine, self.sizes), self.other)
        return found if self.turned else self._turned(found, carry=True)

    def _bring_back(self, theirs: Sequence[Any]) -> list[Any]:
        if not self.sizes:
            return [self._moved(theirs[0], back=True)]
        rows = theirs if self.turned else self._turned(theirs, carry=False)
        found = put_together(take_apart(rows, self.other, self.sizes), self.mine)
        return self._turned(found, carry=False) if self.turned else found

    def _moved(self, array: Any, *, back: bool = False) -> Any:
        """Convert a weight that is one on both sides."""
        if back and self.rule.transpose:
            array = transposed(array)
        way = None if self.shapes is None else arrangement(self.rule.axes, *self.shapes)
        if way is not None:
            array = way.bring_back(array) if back else way.carry(array)
        return transposed(array) if self.rule.transpose and not back else array

    def _turned(self, arrays: Sequence[Any], *, carry: bool) -> list[Any]:
        """Turn matrices that are to be split or were fused, where the rule says that one side has them so."""
        if self.ways:
            pairs = zip(self.ways, arrays, strict=True)
            return [way.carry(item) if carry else way.bring_back(item) for way, item in pairs]
        return [transposed(item) for item in arrays] if self.rule.transpose else list(arrays)

    @property
    def names(self) -> Names:
        return Names(tuple(self.gold), tuple(self.theirs), self.shapes or ())


def size_words(shape: Shape) -> str:
    return "of any shape" if shape == UNBUILT else "×".join(map(str, shape)) or "scalar"

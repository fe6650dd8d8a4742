"""One placement of weights: which of gold's are which of theirs, and conversion of the numbers both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.frameworks.framework import arrays_of
from goldsmith.runs.notes import Names
from goldsmith.weights.fused import put_together, take_apart
from goldsmith.weights.matching import UNBUILT, Match, Shape
from goldsmith.weights.rules import Rule

BY_NAME, BY_RULE, BY_SHAPE = "name", "rule", "shape"
GOLD, THEIRS = "gold", "theirs"


@dataclass(frozen=True)
class Placed(Match):
    """Weights that correspond, and why: the same name, a rule, or shape and order. `shapes` are gold's and theirs where
    the same numbers have different shapes. If `turned`, gold's matrices are transposed before they are split or fused;
    otherwise theirs are, after it, where the rule says that they are the other way round.

    `stacked` is the side that holds one tensor for `count` weights of the other, which are named index by index: all
    with the first index, then all with the second.
    """

    how: str = BY_NAME
    rule: Rule = field(default_factory=lambda: Rule((), ()))
    shapes: tuple[Shape, Shape] | None = None
    turned: bool = False
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
        found = [_transpose(item) for item in gold] if self.turned else list(gold)
        if self.sizes:
            found = put_together(take_apart(found, self.mine, self.sizes), self.other)
        elif self.shapes is not None:
            found = [_reshape(item, *self.shapes, self.rule.axes) for item in found]
        return [_transpose(item) for item in found] if self._turns_theirs else found

    def _bring_back(self, theirs: Sequence[Any]) -> list[Any]:
        found = [_transpose(item) for item in theirs] if self._turns_theirs else list(theirs)
        if self.sizes:
            found = put_together(take_apart(found, self.other, self.sizes), self.mine)
        elif self.shapes is not None:
            found = [_reshape(item, *self.shapes[::-1], self.rule.axes) for item in found]
        return [_transpose(item) for item in found] if self.turned else found

    @property
    def _turns_theirs(self) -> bool:
        return self.rule.transpose and not self.turned

    @property
    def names(self) -> Names:
        return Names(tuple(self.gold), tuple(self.theirs), self.shapes or ())


def swap_last_axes(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def size_words(shape: Shape) -> str:
    return "of any shape" if shape == UNBUILT else "×".join(map(str, shape)) or "scalar"


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

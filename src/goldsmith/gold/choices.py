"""Choices: what a token, an index, an order or a top-k set was chosen from, and how near a tie it was.

A different choice may be right where the scores of two candidates are nearer to each other than rounding moves them.
Here is how choices and scores are laid out, and which differences of scores are noise; `gold/choice_links.py` finds
choices nobody declared, `gold/choice_noise.py` measures, and `judge/choices.py` judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from goldsmith.gold.choice_ruling import rule
from goldsmith.gold.tolerances import DWARFS, SAFETY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.int64]

Best = Literal["highest", "lowest"]
Ties = Literal["", "first", "last"]
SCORES_PREFIX, WIDTHS_PREFIX, BRANCH_PREFIX, EQUAL_PREFIX = "scores:", "widths:", "branch:", "equal:"
"""In a reference file: the scores of a choice that are not recorded by themselves, how far apart two of them may be and
still be a tie, what follows after a tie, and by number which of equal scores are equal by more than rounding."""
OF_CHOICES = (SCORES_PREFIX, WIDTHS_PREFIX, BRANCH_PREFIX, EQUAL_PREFIX)
_NEIGHBOURS = 8
"""The noise of a score is that of as many on each side of it by rank, the largest: a dozen trials show too little of a
single one, and candidates are neighbours of what they may be taken for."""
_FLOOR = 4.0
"""Scores that move at all are never nearer than so many units in the last place."""


class Branch(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Another choice that is as right as gold's, and after which gold's solution was run again."""

    row: int
    """The sequence, counted over all axes but that of the steps."""
    step: int
    """The step at which it departs, counted from the first that has scores."""
    chosen: tuple[int, ...]
    """What is chosen there."""
    after: int = -1
    """The branch that it departs from, by number; -1 for gold itself."""


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A recorded output that was chosen by scores."""

    path: str
    """Where the choice sits, such as `output.tokens`."""
    scores: str = ""
    """Where its scores are recorded; empty where the reference file has them."""
    found: str = ""
    """Of a choice that no recipe declared: what its scores are, in words."""
    best: Best = "highest"
    """Whether the highest scores are chosen, or the lowest."""
    axis: int = 0
    """The axis of the scores along which is chosen."""
    count: int = 0
    """How many are chosen at each position; 0 for one that has no axis of its own."""
    ties: Ties = ""
    """Which of equal scores must be chosen, where that is fixed."""
    steps: int | None = None
    """The axis of the choice along which each step depends on those before; null where none does."""
    together: bool = False
    """Whether a step depends on all choices of the steps before, and not only on those of its own row."""
    unordered: bool = False
    """Whether the chosen are a set."""
    positions: int = 0
    """How many positions there are; 0 where no noise was measured, and it is compared exactly."""
    close: int = 0
    """At how many of them the gap is below the noise."""
    branches: tuple[Branch, ...] = ()
    """What is as right as gold where it ties."""
    told_apart: bool = False
    """Whether it is known which of equal scores are so by rounding alone: the reference file tells, if there are
    any."""

    @property
    def declared(self) -> Choice:
        """Return what a recipe says of it, without what was measured."""
        return msgspec.structs.replace(self, positions=0, close=0, branches=(), told_apart=False)

    @property
    def step_axis(self) -> int | None:
        """Return the axis of the steps among those of the positions, once neither counts from the end."""
        return self.steps - 1 if self.steps is not None and self.count and self.steps > self.axis else self.steps


class Misfit(ValueError):
    """Scores that a choice cannot have been made by; the message continues the name of the choice."""


@dataclass(frozen=True)
class Layout:
    """Scores and choices in one form: by row, by step, and then by candidate, or by what is chosen. Higher is better.
    Where no step depends on another, each position is a row of one step; `lead` steps have no scores, being given."""

    choice: Choice
    lead: int = 0

    @classmethod
    def of(cls, choice: Choice, value: Sequence[int], scores: Sequence[int]) -> Layout:
        """Return how arrays of these shapes are laid out, or raise `Misfit`."""
        if not scores or not -len(scores) <= choice.axis < len(scores):
            raise Misfit(f"axis {choice.axis} does not fit scores of shape {list(scores)}")
        axis = choice.axis % len(scores)
        rest = [size for place, size in enumerate(scores) if place != axis]
        count = value[axis] if len(value) == len(scores) else 0
        others = [size for place, size in enumerate(value) if not count or place != axis]
        lead, steps = 0, choice.steps
        if steps is not None:
            if not -len(value) <= steps < len(value) or (count and steps % len(value) == axis):
                raise Misfit(f"steps={choice.steps} is not an axis of steps in a choice of shape {list(value)}")
            steps %= len(value)
            place = steps - (1 if count and steps > axis else 0)
            lead = others[place] - rest[place] if len(others) == len(rest) else 0
            rest = [size + lead if number == place else size for number, size in enumerate(rest)]
        if others != rest or lead < 0 or not 0 <= count <= scores[axis] or 0 in (*value, *scores):
            raise Misfit(
                f"a choice of shape {list(value)} cannot have been made along axis {axis} of scores of shape "
                f"{list(scores)}"
            )
        return cls(msgspec.structs.replace(choice, axis=axis, count=count, steps=steps), lead)

    def scores(self, scores: Any) -> Array:
        """Return scores by row, step and candidate."""
        import numpy as np

        moved = np.moveaxis(np.asarray(scores, dtype=np.float64), self.choice.axis, -1)
        found: Array = self._by_row(-moved if self.choice.best == "lowest" else moved)
        return found

    def chosen(self, value: Any) -> Any:
        """Return what was chosen (or anything else of that shape) by row, step and rank."""
        import numpy as np

        array = np.asarray(value)
        return self._by_row(np.moveaxis(array, self.choice.axis, -1) if self.choice.count else array[..., None])

    def _by_row(self, array: Any) -> Any:
        import numpy as np

        step = self.choice.step_axis
        if step is None:
            return array.reshape(-1, 1, array.shape[-1])
        return np.moveaxis(array, step, -2).reshape(-1, array.shape[step], array.shape[-1])


def first_problem(layout: Layout, value: Any, scores: Any) -> str:
    """Say why scores cannot be what gold's own choice was made by; empty if they can."""
    import numpy as np

    rows, chosen = layout.scores(scores), layout.chosen(value)[:, layout.lead :]
    if np.isnan(rows).any():
        return f"{int(np.isnan(rows).sum())} of the scores are NaN"
    if not (rows != rows[..., :1]).any() and not layout.choice.ties and rows.shape[-1] > 1:
        return "all scores are equal, so nothing is chosen by them"
    size = rows.shape[-1]
    if ((chosen < 0) | (chosen >= size)).any():
        wrong = int(chosen[(chosen < 0) | (chosen >= size)][0])
        return f"{wrong} is chosen, and there are {size} to choose from"
    right = best_of(rows, chosen.shape[-1], layout.choice.ties)
    for row, step in np.argwhere((right != chosen).any(axis=-1)):
        at = tuple(int(place) for place in (row, step))
        found = rule(rows[at], np.zeros(size), right[at], chosen[at], layout.choice)
        if found.outcome == "wrong":
            return f"it is not what the {layout.choice.best} scores choose: {found.why}"
    return ""


def best_of(scores: Array, count: int, ties: Ties) -> Indices:
    """Return the best by row and step, in order; of equal ones the first unless the last is to be chosen."""
    import numpy as np

    if ties == "last":
        return np.asarray(scores.shape[-1] - 1 - np.argsort(-scores[..., ::-1], axis=-1, kind="stable")[..., :count])
    return np.argsort(-scores, axis=-1, kind="stable")[..., :count]


def after_change(layout: Layout, difference: Any) -> Any:
    """Return which steps of which rows follow one in which a choice is another."""
    import numpy as np

    changed = (layout.chosen(difference) != 0).any(axis=-1)
    if layout.choice.together:
        changed[:] = changed.any(axis=0)
    before = np.cumsum(changed, axis=1) - changed > 0
    return before[:, layout.lead :]


@dataclass(frozen=True)
class Change:
    """Choices that are others than gold's and as right, or may be: `at` which positions, with all steps after them."""

    choice: Choice
    at: Any

    @classmethod
    def of(cls, choice: Choice, gold: Any, actual: Any) -> Change:
        import numpy as np

        if choice.unordered and choice.count:  # the same in another order is no other choice
            gold, actual = np.sort(gold, axis=choice.axis), np.sort(actual, axis=choice.axis)
        found = cls(choice, (gold != actual).any(axis=choice.axis) if choice.count else gold != actual)
        step = choice.step_axis
        if step is None:
            return found
        others = tuple(axis for axis in range(found.at.ndim) if axis != step)
        at = found.at | found.at.any(axis=others, keepdims=True) if choice.together else found.at
        return cls(choice, np.maximum.accumulate(at, axis=step))

    def reaches(self, shape: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """List what of an array of that shape may follow, the least first: what has the same first axes as positions,
        and their rows; then, farther off, their first axis, or all from the first of that on. Of an array without such
        axes, all."""
        import numpy as np

        masks = [self.at] if self.choice.step_axis is None else [self.at, self.at.any(axis=self.choice.step_axis)]
        fitting = [mask for mask in (_fitted(mask, tuple(shape)) for mask in masks) if mask is not None]
        if not fitting:
            return [], [np.ones((), dtype=bool)]
        last = fitting[-1]
        return fitting, [last.any(axis=tuple(range(1, last.ndim))) if last.ndim > 1 else np.maximum.accumulate(last)]


def _fitted(mask: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask over the first axes of a shape, which may be flattened in one of the two; None if none are."""
    if mask.ndim and shape[: mask.ndim] == mask.shape:
        return mask
    for axes in range(1, len(shape) + 1) if mask.ndim else ():
        if math.prod(shape[:axes]) == mask.size > 1 and 1 in (axes, mask.ndim):
            return mask.reshape(shape[:axes])
    return None


def joined(masks: Sequence[Any]) -> Any:
    """Return what is in any of some masks over first axes; all, if one is of all."""
    import numpy as np

    axes = min(mask.ndim for mask in masks)
    return np.logical_or.reduce([mask.any(axis=tuple(range(axes, mask.ndim))) for mask in masks])


def widths_of(scores: Array, gaps: Array, eps: float) -> Array:
    """Return how far below another each score may be and still be a tie, from the `gaps` between scores and those of
    the trials, the largest of each. Both are laid out, as `Layout.scores` returns them."""
    import numpy as np

    if not gaps.any():
        return np.zeros_like(scores)
    order = np.argsort(scores, axis=-1, kind="stable")
    moved, sizes = np.take_along_axis(gaps, order, -1), np.abs(np.take_along_axis(scores, order, -1))
    pooled = moved.copy()
    for shift in range(1, min(_NEIGHBOURS, scores.shape[-1] - 1) + 1):
        for mine, others in ((slice(shift, None), slice(None, -shift)), (slice(None, -shift), slice(shift, None))):
            with np.errstate(invalid="ignore", over="ignore"):
                alike = sizes[..., others] <= DWARFS * sizes[..., mine]
            pooled[..., mine] = np.maximum(pooled[..., mine], np.where(alike, moved[..., others], 0.0))
    found = np.empty_like(pooled)
    np.put_along_axis(found, order, pooled, -1)
    finite = np.isfinite(scores)
    floor = np.where(finite, _FLOOR * eps * np.abs(np.where(finite, scores, 0.0)), 0.0)
    return np.maximum(SAFETY * found, floor)


def close_positions(scores: Array, widths: Array, count: int, choice: Choice, equal: Any = None) -> Any:
    """Return by row, step and rank where what is chosen ties with the next best; of a set, with the best that is
    not."""
    import numpy as np

    order = np.argsort(-scores, axis=-1, kind="stable")[..., : count + 1]
    if order.shape[-1] < 2:
        return np.zeros((*scores.shape[:2], 1), dtype=bool)
    best, width = np.take_along_axis(scores, order, -1), np.take_along_axis(widths, order, -1)
    with np.errstate(invalid="ignore"):
        gaps = np.where(best[..., :-1] == best[..., 1:], 0.0, best[..., :-1] - best[..., 1:])
    close = gaps <= np.maximum(width[..., :-1], width[..., 1:])
    if choice.ties:
        numbers = np.take_along_axis(np.zeros(scores.shape, int) if equal is None else equal, order, -1)
        close &= (gaps > 0) | (numbers[..., :-1] != numbers[..., 1:])
    if choice.unordered:
        close = close[..., count - 1 : count]
    return close


def alternatives(scores: Array, widths: Array, own: Indices, choice: Choice) -> Iterator[tuple[int, ...]]:
    """Yield what else is right at one position, by one exchange: of two neighbours that tie, or of the last for another
    that ties with it."""
    chosen = [int(item) for item in own]
    omitted = [index for index in range(len(scores)) if index not in set(chosen)]
    for place in range(len(chosen) - 1) if not choice.unordered else ():
        yield from _if_tied(
            scores, widths, chosen, [*chosen[:place], chosen[place + 1], chosen[place], *chosen[place + 2 :]], choice
        )
    last = chosen[-1]
    reach = [index for index in omitted if scores[last] - scores[index] <= max(widths[last], widths[index])]
    for index in reach:
        yield from _if_tied(scores, widths, chosen, [*chosen[:-1], index], choice)


def _if_tied(
    scores: Array, widths: Array, own: list[int], other: list[int], choice: Choice
) -> Iterator[tuple[int, ...]]:
    import numpy as np

    if rule(scores, widths, np.asarray(own), np.asarray(other), choice).outcome == "tie":
        yield tuple(other)

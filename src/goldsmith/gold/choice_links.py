"""Find what outputs were chosen from: whole numbers that are the argmax, argmin, order or top-k of floating-point
numbers, at every position, and too many of them for chance."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.choices import Choice, Layout, Misfit, best_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

CHANCE_BITS = 20.0
"""A link is believed if the chance that unrelated numbers look like it is below one in a million, for all that was
tried together."""
_MOVED_APART = 4.0
"""What is chosen may be so many times as far from the best as noise has moved that."""
MAX_TRIED = 2**26
"""Numbers in scores that are tried, those of all tensors together."""


def find_links(values: Mapping[str, Any], scores: Mapping[str, Any]) -> dict[str, tuple[str, Choice]]:
    """Return, by path, what each of `values` was chosen from, by name, and how. Of several that fit alike, it is the
    one that speaks most, and of those the last: what was computed nearest to the choice."""
    found: dict[str, tuple[str, Choice]] = {}
    for path, value in values.items():
        fitting, tried, size = [], 0, 0
        for name, array in scores.items():
            size += array.size
            if size > MAX_TRIED:
                break
            for layout in _layouts(path, value, array):
                tried += 1
                bits = evidence(layout, value, array)
                if bits > 0:
                    fitting.append((bits, tried, name, layout.choice))
        if fitting:
            bits, _, name, choice = max(fitting, key=lambda item: item[:2])
            if bits >= CHANCE_BITS + math.log2(tried):
                found[path] = name, choice
    return found


def _layouts(path: str, value: Any, scores: Any) -> Iterator[Layout]:
    for axis in range(scores.ndim):
        for best in ("highest", "lowest"):
            try:
                layout = Layout.of(Choice(path=path, axis=axis, best=best), value.shape, scores.shape)
            except Misfit:
                continue
            if scores.shape[axis] > 1:
                yield layout


def holds(layout: Layout, value: Any, scores: Any, gold: Any = None) -> bool:
    """Say whether a choice is what the scores choose, at every position; of equal scores, any may be chosen. Of a
    trial, whose noise may lie between the two, it is nearly so: as nearly as it has moved the best of `gold`'s
    scores."""
    import numpy as np

    rows, chosen = layout.scores(scores), layout.chosen(value)
    if chosen.dtype.kind not in "iu" or ((chosen < 0) | (chosen >= rows.shape[-1])).any() or np.isnan(rows).any():
        return False
    best = np.take_along_axis(rows, best_of(rows, chosen.shape[-1], ""), -1)
    distinct = np.sort(chosen, axis=-1)
    if (distinct[..., 1:] == distinct[..., :-1]).any():
        return False
    found = np.take_along_axis(rows, chosen.astype(np.int64), -1)
    if gold is None:
        return bool((found == best).all())
    before = layout.scores(gold)
    own = best_of(before, chosen.shape[-1], "")
    moved = np.abs(np.take_along_axis(rows, own, -1) - np.take_along_axis(before, own, -1))
    return bool((found >= best - _MOVED_APART * moved[np.isfinite(moved)].max(initial=0.0)).all())


def evidence(layout: Layout, value: Any, scores: Any) -> float:
    """Return in bits how unlikely it is that unrelated whole numbers are what these scores choose; 0 if they are not.

    Each kind of position counts once: equal scores that choose alike say nothing new. What is chosen could be any
    candidate, but for the first and the last, which many whole numbers are; which position chooses which, any
    rearrangement of them. Of several in order, those that count up or down say nothing.
    """
    if not holds(layout, value, scores):
        return 0.0
    rows, chosen = layout.scores(scores), layout.chosen(value)
    size, count = rows.shape[-1], chosen.shape[-1]
    kinds = {
        (row.tobytes(), tuple(own.tolist()))
        for row, own in zip(rows.reshape(-1, size), chosen.reshape(-1, count), strict=True)
        if _is_told(row, own)
    }
    picks = Counter(own for _, own in kinds)
    ways = math.lgamma(sum(picks.values()) + 1) - sum(math.lgamma(times + 1) for times in picks.values())
    own_bits = sum(_bits(size, own) for own in picks)
    return ways / math.log(2) + own_bits


def _is_told(scores: Array, chosen: Any) -> bool:
    """Say whether the scores of a position decide its choice."""
    import numpy as np

    ranked = -np.partition(-scores, range(min(len(chosen) + 1, len(scores))))[: len(chosen) + 1]
    return bool((ranked[1:] != ranked[:-1]).all())


def _bits(size: int, chosen: tuple[int, ...]) -> float:
    """Return how much it says that scores choose just these."""
    if len(chosen) == 1:
        return 0.0 if chosen[0] in (0, size - 1) else math.log2(size)
    steps = {two - one for one, two in itertools.pairwise(chosen)}
    if steps <= {1} or steps <= {-1}:
        return 0.0
    return math.log2(math.perm(size, len(chosen))) if size < 1000 else len(chosen) * math.log2(size - len(chosen) + 1)


def as_found(choice: Choice, path: str, scores: str, words: str) -> Choice:
    """Return a choice that was found, with where its scores are."""
    return msgspec.structs.replace(choice, path=path, scores=scores, found=words)

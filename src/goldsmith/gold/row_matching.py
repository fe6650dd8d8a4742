"""Which row of one matrix belongs to which of another: the pairing at the smallest total of squared distances.

Of few rows it is the smallest there is; many are first parted into blocks, at places where nothing lies near.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.int64]

MAX_PAIRED = 400
"""Rows that are paired at the smallest total, which takes the cube of their number at worst; more come in blocks."""
_BLOCK = 64
"""Rows of a block. A hundred thousand rows take 3 s of processor time."""
_DIRECTIONS = 4
"""Directions in which a place to part rows is looked for."""
_FAR = 4.0
"""A pair is looked at again that is so many times as far apart as most are: its rows may have come into two blocks."""
_ROUNDS = 12
"""Times that such pairs are looked at again, each time parted elsewhere."""
_HUGE = 1e300


def nearest(gold: Array, actual: Array) -> list[int]:
    """Return for each row of gold's the one of as many others that is paired with it."""
    import numpy as np

    if not len(gold):
        return []
    if gold.shape[1] == 1:  # the order of numbers is the best pairing
        found = np.empty(len(gold), dtype=np.int64)
        found[np.argsort(gold[:, 0], kind="stable")] = np.argsort(actual[:, 0], kind="stable")
        return [int(item) for item in found]
    rng = np.random.default_rng(0)
    found = _by_blocks(gold, actual, rng)
    apart = _squares(gold, actual[found])
    for _ in range(_ROUNDS if len(gold) > MAX_PAIRED else 0):
        far = np.flatnonzero(apart > _FAR**2 * np.median(apart))
        if not len(far):
            break
        again = found[far][_by_blocks(gold[far], actual[found[far]], rng)]
        now = _squares(gold[far], actual[again])
        if now.sum() < apart[far].sum():
            found[far], apart[far] = again, now
    return [int(item) for item in found]


def _by_blocks(gold: Array, actual: Array, rng: Any) -> Indices:
    """Pair rows block by block."""
    import numpy as np

    found = np.empty(len(gold), dtype=np.int64)
    size = MAX_PAIRED if len(gold) <= MAX_PAIRED else _BLOCK
    blocks = [(np.arange(len(gold)), np.arange(len(gold)))]
    while blocks:
        mine, theirs = blocks.pop()
        if len(mine) > size:
            blocks += _parted(gold, actual, mine, theirs, rng)
            continue
        costs = np.stack([_squares(row, actual[theirs]) for row in gold[mine]])
        found[mine] = theirs[assignment(costs)]
    return found


def _parted(gold: Array, actual: Array, mine: Indices, theirs: Indices, rng: Any) -> Iterator[tuple[Indices, Indices]]:
    """Part rows in two, with as many of gold's as of the others in each: at the widest gap near the middle that any
    direction has."""
    import numpy as np

    best: tuple[float, Any] = (-1.0, None)
    middle = slice(len(mine) // 2, 3 * len(mine) // 2)
    for direction in rng.normal(size=(_DIRECTIONS, gold.shape[1])):
        direction /= np.linalg.norm(direction)
        places = np.concatenate([gold[mine] @ direction, actual[theirs] @ direction])
        order = np.argsort(places, kind="stable")
        balance = np.cumsum(np.where(order < len(mine), 1, -1))[:-1]
        gaps = np.where(balance == 0, np.diff(places[order]), -1.0)[middle]
        widest = int(np.argmax(gaps))
        if gaps[widest] > best[0]:
            best = float(gaps[widest]), (order, middle.start + widest + 1)
    if best[1] is None:  # rows are nowhere apart: as they come in the last direction
        own, other = (np.argsort(part, kind="stable") for part in np.split(places, [len(mine)]))
        half = len(mine) // 2
        yield from ((mine[own[:half]], theirs[other[:half]]), (mine[own[half:]], theirs[other[half:]]))
        return
    order, cut = best[1]
    for part in (order[:cut], order[cut:]):
        yield mine[part[part < len(mine)]], theirs[part[part >= len(mine)] - len(mine)]


def _squares(one: Array, two: Array) -> Array:
    import numpy as np

    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(((one - two) ** 2).sum(axis=-1), _HUGE))


def assignment(costs: Array) -> list[int]:
    """Return the column of each row of a square matrix at the smallest total cost: the Hungarian method, begun with all
    rows that can have a column at no more than the least they must cost."""
    import numpy as np

    size = len(costs)
    row_price, column_price = np.zeros(size + 1), np.zeros(size + 1)
    column_price[1:] = costs.min(axis=0)
    reduced = costs - column_price[1:]
    row_price[1:] = reduced.min(axis=1)
    row_of = np.zeros(size + 1, dtype=int)  # the first column and row stand for none
    for row, column in enumerate(reduced.argmin(axis=1), start=1):
        row_of[column + 1] = row_of[column + 1] or row
    taken = set(row_of.tolist())
    for row in itertools.filterfalse(taken.__contains__, range(1, size + 1)):
        row_of[0], column = row, 0
        least, before = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=int)
        used = np.zeros(size + 1, dtype=bool)
        while row_of[column]:
            used[column] = True
            free = ~used
            free[0] = False
            here = np.concatenate([[np.inf], costs[row_of[column] - 1] - row_price[row_of[column]] - column_price[1:]])
            better = free & (here < least)
            least[better], before[better] = here[better], column
            following = int(np.argmin(np.where(free, least, np.inf)))
            step = least[following]
            row_price[row_of[used]] += step
            column_price[used] -= step
            least[free] -= step
            column = following
        while column:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    found = np.empty(size, dtype=int)
    found[row_of[1:] - 1] = np.arange(size)
    return [int(item) for item in found]

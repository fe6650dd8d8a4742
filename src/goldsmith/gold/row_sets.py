"""Records whose rows may come in any order: which row of one belongs to which of the other.

Rows that are equal are paired first, duplicates one by one; then those whose whole numbers are the same, which rounding
never moves; the others so that they are as near to each other as they can be: of few rows the smallest total of squared
distances is found, many are first parted into blocks, at places where nothing lies near. Whether what is paired agrees
is for a comparison to say.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import as_numpy, is_numeric, numbers_of
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.gold.sizes import root_mean_square

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


def is_unorderable(value: Any) -> bool:
    """Say whether a value has rows that could come in any order: arrays with as many rows, or a list of plain
    values."""
    leaves = dict(walk(value, "value"))
    if isinstance(value, list | tuple) and not any(map(is_numeric, leaves.values())):
        return bool(value) and len(leaves) == len(value)
    return _rows_of(leaves) > 0


def in_order_of(gold: Mapping[str, Any], actual: Mapping[str, Any], records: Sequence[str]) -> dict[str, Any]:
    """Return the leaves of `actual` with the rows of these records in the order of gold's. What has another form stays
    as it is, for a comparison to say so."""
    found = dict(actual)
    for record in records:
        mine = {path: leaf for path, leaf in gold.items() if path == record or path.startswith(f"{record}.")}
        theirs = {path: found[path] for path in mine if path in found}
        if mine.keys() == theirs.keys():
            found |= (
                _plain_in_order(mine, theirs) if record not in mine and not _rows_of(mine) else _in_order(mine, theirs)
            )
    return found


def _in_order(gold: Mapping[str, Any], actual: Mapping[str, Any]) -> dict[str, Any]:
    rows = _rows_of(gold)
    if not rows or any(not is_numeric(leaf) or leaf.shape != gold[path].shape for path, leaf in actual.items()):
        return dict(actual)
    whole = [path for path in gold if _is_whole(gold[path]) and _is_whole(actual[path])]
    found = _by_key(*(_keys(leaves, whole, rows) for leaves in (gold, actual)))
    mine = [number for number, other in enumerate(found) if other < 0]
    theirs = sorted(set(range(rows)) - set(found))
    for number, other in _paired(gold, actual, whole, mine, theirs):
        found[number] = other
    return {path: _taken(leaf, found) for path, leaf in actual.items()}


def _paired(
    gold: Mapping[str, Any],
    actual: Mapping[str, Any],
    whole: Collection[str],
    mine: Sequence[int],
    theirs: Sequence[int],
) -> Iterator[tuple[int, int]]:
    """Yield pairs of these rows, of which no two are equal: of such as have the same whole numbers, if as many have
    them on either side."""
    rows = _rows_of(gold)
    one, two = (
        _grouped(_keys({path: leaves[path] for path in whole}, whole, rows), numbers)
        for leaves, numbers in ((gold, mine), (actual, theirs))
    )
    if {key: len(group) for key, group in one.items()} != {key: len(group) for key, group in two.items()}:
        whole, one, two = (), {b"": list(mine)}, {b"": list(theirs)}
    left, right = (
        _features({path: leaf for path, leaf in leaves.items() if path not in whole}, gold, rows)
        for leaves in (gold, actual)
    )
    for key, group in one.items():
        others = two[key]
        order = _nearest(left[group], right[others]) if len(group) > 1 else [0]
        yield from zip(group, (others[number] for number in order), strict=True)


def _by_key(mine: Sequence[bytes], theirs: Sequence[bytes]) -> list[int]:
    """Return for each key of mine the number of an equal one of theirs, which is taken once; -1 where none is left."""
    equal = {key: rows[::-1] for key, rows in _grouped(theirs, range(len(theirs))).items()}
    return [equal[key].pop() if equal.get(key) else -1 for key in mine]


def _grouped(keys: Sequence[bytes], rows: Sequence[int]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = defaultdict(list)
    for row in rows:
        found[keys[row]].append(row)
    return found


def _plain_in_order(gold: Mapping[str, Any], actual: Mapping[str, Any]) -> dict[str, Any]:
    """Pair plain values: those that are equal, then numbers with numbers, the smallest first."""
    left = list(actual.values())
    found: dict[str, Any] = {}
    for path, value in gold.items():
        place = next((number for number, item in enumerate(left) if type(item) is type(value) and item == value), None)
        if place is not None:
            found[path] = left.pop(place)
    unpaired = [path for path in gold if path not in found]
    mine = _ascending({path: gold[path] for path in unpaired})
    theirs = _ascending(dict(enumerate(left)))
    found |= {path: left[place] for path, place in zip(mine, theirs, strict=False)}
    rest = [item for place, item in enumerate(left) if place not in theirs[: len(mine)]]
    return {path: found[path] if path in found else rest.pop(0) for path in gold}


def _ascending(values: Mapping[Any, Any]) -> list[Any]:
    """Return where numbers stand, the smallest first and NaN last."""
    numbers = {}
    for place, value in values.items():
        number = as_numpy(value).item() if is_numeric(value) and value.shape == () else value
        if isinstance(number, int | float) and not isinstance(number, bool):
            numbers[place] = number
    return sorted(numbers, key=lambda place: (numbers[place] != numbers[place], numbers[place]))


def _nearest(gold: Array, actual: Array) -> list[int]:
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


def _features(leaves: Mapping[str, Any], gold: Mapping[str, Any], rows: int) -> Array:
    """Return one row of numbers for each row of the record, each array over the size of gold's."""
    import numpy as np

    parts = [np.empty((rows, 0))]
    for path, leaf in leaves.items():
        size = numbers_of(gold[path])
        parts.append(numbers_of(leaf).reshape(rows, -1) / (root_mean_square(size[np.isfinite(size)]) or 1.0))
    return np.nan_to_num(np.concatenate(parts, axis=1), posinf=1e150, neginf=-1e150, nan=1e151)


def _keys(leaves: Mapping[str, Any], whole: Collection[str], rows: int) -> list[bytes]:
    """Return the values of each row as bytes, which are the same exactly if all values are: float64 does not hold every
    whole number."""
    import numpy as np

    parts = [np.empty((rows, 0), dtype=np.uint8)]
    for path, leaf in leaves.items():
        exact = as_numpy(leaf).astype(np.int64) if path in whole else numbers_of(leaf) + 0.0  # -0 is 0
        parts.append(np.ascontiguousarray(exact.reshape(rows, -1)).view(np.uint8))
    return [row.tobytes() for row in np.concatenate(parts, axis=1)]


def _is_whole(leaf: Any) -> bool:
    return not isinstance(leaf, Bfloat16) and as_numpy(leaf).dtype.kind in "biu"


def _rows_of(leaves: Mapping[str, Any]) -> int:
    """Return how many rows all leaves have; 0 where they have no rows, or not as many."""
    counts = {leaf.shape[0] if is_numeric(leaf) and len(leaf.shape) else 0 for leaf in leaves.values()}
    return int(counts.pop()) if len(counts) == 1 else 0


def _taken(leaf: Any, order: Sequence[int]) -> Any:
    return Bfloat16(leaf.bits[list(order)]) if isinstance(leaf, Bfloat16) else leaf[list(order)]

"""Records whose rows may come in any order: which row of one belongs to which of the other.

Rows that are equal are paired first, duplicates one by one; the others so that they are as near to each other as they
can be. Whether what is paired agrees is for a comparison to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.gold.row_matching import nearest
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.gold.sizes import root_mean_square

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def is_unorderable(value: Any) -> bool:
    """Say whether a value has rows that could come in any order: arrays with as many rows, or a list of plain
    values."""
    leaves = dict(walk(value, "value"))
    if isinstance(value, list | tuple) and not any(map(_is_numeric, leaves.values())):
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
    if not rows or any(not _is_numeric(leaf) or leaf.shape != gold[path].shape for path, leaf in actual.items()):
        return dict(actual)
    order = pairing(_features(gold, gold, rows), _features(actual, gold, rows))
    return {path: _taken(leaf, order) for path, leaf in actual.items()}


def _plain_in_order(gold: Mapping[str, Any], actual: Mapping[str, Any]) -> dict[str, Any]:
    """Pair plain values, which agree if they are equal."""
    left = list(actual.values())
    found: dict[str, Any] = {}
    for path, value in gold.items():
        place = next((number for number, item in enumerate(left) if type(item) is type(value) and item == value), None)
        if place is not None:
            found[path] = left.pop(place)
    return {path: found[path] if path in found else left.pop(0) for path in gold}


def pairing(gold: Array, actual: Array) -> list[int]:
    """Return for each row of gold's which one of the others is paired with it."""
    import numpy as np

    equal: dict[bytes, list[int]] = defaultdict(list)
    for number in range(len(actual) - 1, -1, -1):
        equal[actual[number].tobytes()].append(number)
    found = [equal[row.tobytes()].pop() if equal.get(row.tobytes()) else -1 for row in gold]
    mine = [number for number, other in enumerate(found) if other < 0]
    theirs = sorted(set(range(len(actual))) - set(found))
    one, two = (np.nan_to_num(rows, posinf=1e150, neginf=-1e150, nan=1e151) for rows in (gold[mine], actual[theirs]))
    for number, other in zip(mine, nearest(one, two), strict=True):
        found[number] = theirs[other]
    return found


def _features(leaves: Mapping[str, Any], gold: Mapping[str, Any], rows: int) -> Array:
    """Return one row of numbers for each row of the record, each array over the size of gold's."""
    import numpy as np

    parts = []
    for path, leaf in leaves.items():
        size = numbers_of(gold[path])
        parts.append(numbers_of(leaf).reshape(rows, -1) / (root_mean_square(size[np.isfinite(size)]) or 1.0))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)) + 0.0


def _rows_of(leaves: Mapping[str, Any]) -> int:
    """Return how many rows all leaves have; 0 where they have no rows, or not as many."""
    counts = {leaf.shape[0] if _is_numeric(leaf) and len(leaf.shape) else 0 for leaf in leaves.values()}
    return int(counts.pop()) if len(counts) == 1 else 0


def _is_numeric(leaf: Any) -> bool:
    return is_array(leaf) or isinstance(leaf, Bfloat16)


def _taken(leaf: Any, order: Sequence[int]) -> Any:
    return Bfloat16(leaf.bits[list(order)]) if isinstance(leaf, Bfloat16) else leaf[list(order)]

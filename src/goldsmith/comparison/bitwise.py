"""Find the leaves in which two recordings are not identical to the last bit, and by how much they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldsmith.gold.arrays import as_numpy, is_array, leaf_facts, leaves_of


@dataclass(frozen=True)
class Difference:
    """One leaf that differs: its `path` and, in words, how."""

    path: str
    how: str

    def __str__(self) -> str:
        return f"{self.path} {self.how}"


def bit_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """List every leaf of two payloads that is not bit-identical; empty means equal."""
    one, two = leaves_of(first), leaves_of(second)
    found = []
    for path in dict.fromkeys([*one, *two]):
        if path not in two:
            found.append(Difference(path, "is missing from the second"))
        elif path not in one:
            found.append(Difference(path, "is missing from the first"))
        else:
            how = _how(path, one[path], two[path])
            if how:
                found.append(Difference(path, how))
    return found


def _how(path: str, one: Any, two: Any) -> str | None:
    first, second = leaf_facts(path, one), leaf_facts(path, two)
    if first.sha256 == second.sha256:
        return None
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        return f"is {first.dtype} {list(first.shape)} once and {second.dtype} {list(second.shape)} the other time"
    if not is_array(one):
        return f"is {one!r} once and {two!r} the other time"
    return _in_numbers(as_numpy(one), as_numpy(two))


def _in_numbers(one: Any, two: Any) -> str:
    import numpy as np

    unequal = ~((one == two) | ((one != one) & (two != two)))
    count = int(unequal.sum())
    if not count:
        return "differs in sign of zero or NaN payload only"
    wide = np.complex128 if np.iscomplexobj(one) else np.float64
    with np.errstate(invalid="ignore"):
        gaps = np.abs(one[unequal].astype(wide) - two[unequal].astype(wide))
    finite = gaps[np.isfinite(gaps)]
    largest = f", by at most {finite.max():.3g}" if finite.size else ""
    index = [int(item) for item in np.argwhere(unequal)[0]]
    return f"differs in {count} of {one.size} elements{largest}, first at index {index}"

"""Compare what an implementation recorded with a case's gold, within the tolerances of its manifest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from goldsmith.comparison.results import Comparison
from goldsmith.gold.tolerances import Tolerance, with_floor

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase

ROUNDED = 2.0**-20
"""The tolerance that a float64 number needs once rounded to float32: a few units in the last place."""


def tolerances_of(gold: GoldCase) -> dict[str, Tolerance]:
    """Return each leaf's tolerance, by path."""
    return {
        item.path: with_floor(item.tolerance, item.dtype) for item in gold.entry.tensors if item.tolerance is not None
    }


def compare_case(
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    gold: GoldCase,
    *,
    equal_nan: bool = False,
    guessing: bool = True,
    made: Collection[str] = (),
) -> Comparison:
    """Compare leaves by path with the `expected` ones, within the tolerances of `gold`'s manifest. NaN agrees with NaN
    where the recipe allows it, or everywhere with `equal_nan`.

    A single number has no dtype of its own, nor has a tensor that the recipe has `made` of single numbers: `np.mean` of
    some floats is a float64, their mean in torch a float32. There the two dtypes are interchangeable.
    """
    from goldsmith.comparison.api import compare

    alike = {path for path, value in expected.items() if path in made or getattr(value, "shape", ()) == ()}
    tolerances = tolerances_of(gold)
    for path in alike & tolerances.keys():
        if _name(actual.get(path)) == "float32" != _name(expected[path]):
            tolerances[path] = with_floor(tolerances[path], "float64", ROUNDED)
    return compare(
        actual,
        expected,
        tolerances=tolerances,
        noisy={path: marks for path, marks in gold.noisy.items() if _fits(marks, expected.get(path))},
        equal_nan=equal_nan or [path for path in expected if gold.allows_nan(path)],
        check_dtype=alike,
        guessing=guessing,
    )


def _fits(marks: Any, leaf: Any) -> bool:
    """Say whether noise marks are about a leaf of this shape; for a complex one there may be two per element. `leaf`
    need not be gold's: a second run is compared with the first, which may have any shape."""
    shape = tuple(getattr(leaf, "shape", ()))
    return tuple(marks.shape) in (shape, (*shape, 2))


def _name(value: Any) -> str:
    """Return the dtype's name without its library."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")

"""How far a mutant is from the solution, and what a case would need in order to show it.

A mutant that no case saw is run under conditions that the recipe does not have. The condition that shows most becomes
the advice; where none shows anything, the mutant was not told apart from the solution, which does not prove it right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from goldsmith.gold.arrays import is_number, numbers_of
from goldsmith.judge.policy import CLEAR
from goldsmith.runs.conditions import Perturbation

_COARSE: tuple[Perturbation, ...] = ("overflow", "huge")
"""Conditions under which rounding itself is larger than what float64 usually shows."""

ADVICE: dict[Perturbation, str] = {
    "stress": 'use weights="stress"',
    "small": "a small-magnitude input would show it: nothing in it larger than 1e-3",
    "large": "a large-magnitude input would show it: one thirty times as large",
    "moved": "inputs in general position would show it: no zeros or ones, no mask that is all true",
    "rows": "another batch size would show it",
    "numbers": "other plain numbers would show it: another step, another count",
    "gradients": "record gradients: backward(), then case.record_gradients(model), or the .grad of an input",
    "mode": "give the model dropout=1.0, which needs no draws, and hand it over in the other mode (train or eval)",
    "draws": "other inputs would show it: draw more of them, or ones that reach this line's other side",
    "longer": "take three optimiser steps: hand in more than one batch",
    "repeated": "call it twice in one case, on other inputs, and record the second result",
    "single": "a batch of one would show it",
    "ties": "inputs with equal numbers among them would show it",
    "overflow": "a large-magnitude input would show it in its own dtype: one a hundred times as large",
    "tiny": "a tiny input would show it: nothing in it larger than 1e-6",
    "huge": "a huge input would show it: one ten thousand times as large",
    "empty": "an empty batch would show it",
    "initial": "record how weights are initialised: case.initial(Model, …)",
}
"""What to add to a recipe so that a mutant shows, by the condition that shows it."""
WHY: dict[Perturbation, str] = {
    "stress": "at these weights it changes nothing",
    "small": "at inputs of this size it is too small to see",
    "large": "at inputs of this size it is too small to see",
    "moved": "with these inputs it changes nothing",
    "rows": "with so many rows it changes nothing",
    "numbers": "with these plain numbers it changes nothing",
    "gradients": "it changes gradients that no case records",
    "mode": "it only matters in the other mode, train or eval",
    "draws": "with these inputs it changes nothing",
    "longer": "it only matters from the second step on",
    "repeated": "it only matters from the second call on",
    "single": "it only matters with a single row",
    "ties": "it only matters where numbers are equal",
    "overflow": "it only overflows beyond inputs of this size",
    "tiny": "at inputs of this size it is too small to see",
    "huge": "at inputs of this size it is too small to see",
    "empty": "it only matters without any row",
    "initial": "initial weights never show, because the gold's are put in their place",
}
"""Why no case sees a mutant, by the condition that shows it."""


def deviation(solution: Mapping[str, Any], mutant: Mapping[str, Any]) -> float:
    """Return the largest difference over the usual size of its leaf; infinity where it is not a matter of size."""
    if solution.keys() != mutant.keys():
        return math.inf
    return max((_distance(value, mutant[path]) for path, value in solution.items()), default=0.0)


def deviation_under(condition: Perturbation, solution: Mapping[str, Any], mutant: Mapping[str, Any]) -> float:
    """Return the deviation under one condition.

    Where rounding is large, count only what any tolerance sees; of initial weights, only what is beyond chance.
    """
    if condition == "initial":
        return _initially_apart(_statistics(solution), _statistics(mutant))
    apart = deviation(solution, mutant)
    return apart if condition not in _COARSE or apart > CLEAR else 0.0


def _statistics(leaves: Mapping[str, Any]) -> dict[str, Any]:
    return {path: leaf for path, leaf in leaves.items() if path.startswith("initial.")}


def _initially_apart(solution: Mapping[str, Any], mutant: Mapping[str, Any]) -> float:
    """Return by how much, relative to the solution's, statistics of initial weights differ beyond chance."""
    if solution.keys() != mutant.keys():
        return math.inf
    apart = 0.0
    for path, leaf in solution.items():
        (*one, limit), (*two, other) = numbers_of(leaf).tolist(), numbers_of(mutant[path]).tolist()
        if len(one) != len(two):
            return math.inf
        size, beyond = max(map(abs, one)), max(limit, other)
        for gap in (abs(mine - theirs) for mine, theirs in zip(one, two, strict=True)):
            if not gap <= beyond:
                apart = max(apart, gap / size if size and math.isfinite(gap) else math.inf)
    return apart


def only_wide(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the leaves that are float64 by themselves: in other dtypes, two right programs differ in the last bits."""
    return {path: leaf for path, leaf in leaves.items() if str(getattr(leaf, "dtype", "")).endswith("float64")}


def _distance(one: Any, two: Any) -> float:
    if not is_number(one) or not is_number(two):
        return 0.0 if type(one) is type(two) and bool(np.all(one == two)) else math.inf
    mine, theirs = numbers_of(one), numbers_of(two)
    if mine.shape != theirs.shape:
        return math.inf
    if not _is_floating(one):
        return 0.0 if np.array_equal(mine, theirs) else math.inf
    finite = np.isfinite(mine)
    if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True) or not np.isfinite(theirs[finite]).all():
        return math.inf
    if not finite.any():
        return 0.0
    apart = float(np.max(np.abs(mine[finite] - theirs[finite])))
    size = _size(mine[finite])
    return apart / size if size else (0.0 if apart == 0.0 else math.inf)


def _size(values: Any) -> float:
    """Return the usual magnitude: a few huge values, as masks are filled with, must not make all others look small."""
    sizes = np.abs(values)
    largest = float(sizes.max())
    usual = float(np.median(sizes[sizes > 0])) if largest else 0.0
    rms = largest * float(np.sqrt(np.mean(np.square(sizes / largest)))) if largest else 0.0
    return min(rms, max(usual, 1e-6 * rms))


def _is_floating(value: Any) -> bool:
    kind = str(getattr(value, "dtype", type(value).__name__))
    return "float" in kind or "complex" in kind

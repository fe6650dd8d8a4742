"""What an implementation recorded, beside the gold: how far each leaf is off, and which right answer was met."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldsmith.gold import JUDGED_SECTIONS, GoldCase, Tolerance, as_numpy, excess, judged_leaves, leaves_of, numbers_of


@dataclass(frozen=True)
class Judgement:
    """How often each leaf fills its tolerance (at most 1 is within), against the nearest of the accepted golds.

    `met` names the solution's variant that gold came from, "" the solution itself. A leaf that is missing, has another
    shape, or is NaN where gold is not, is infinitely far away.
    """

    excess: Mapping[str, float]
    met: str = ""

    @property
    def worst(self) -> float:
        return max(self.excess.values(), default=math.inf)

    @property
    def agrees(self) -> bool:
        return self.worst <= 1


def judge(actual: Mapping[str, Any], gold: GoldCase) -> Judgement:
    """`actual`, a payload with the keys of a gold file, against the case and every variant it accepts."""
    golds = {"": gold, **gold.variants}
    found = [Judgement(_excesses(actual, item), name) for name, item in golds.items()]
    return min(found, key=lambda item: item.worst)


def _excesses(actual: Mapping[str, Any], gold: GoldCase) -> dict[str, float]:
    tolerances = {item.path: item.tolerance for item in gold.entry.tensors}
    expected, got = judged_leaves(gold.data), judged_leaves(actual)
    texts, said = _plain(gold.data), _plain(actual)
    found = {path: 0.0 if path in said and said[path] == text else math.inf for path, text in texts.items()}
    found |= {
        path: _distance(got[path], leaf, tolerances[path], gold.noisy.get(path)) if path in got else math.inf
        for path, leaf in expected.items()
    }
    return found | {path: math.inf for path in (*got, *said) if path not in found}


def _plain(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What is neither array nor number: text, and None where a parameter has no gradient."""
    judged = {key: value for key, value in payload.items() if key in JUDGED_SECTIONS}
    numbers = judged_leaves(payload)
    return {path: leaf for path, leaf in leaves_of(judged).items() if path not in numbers}


def _distance(actual: Any, gold: Any, tolerance: Tolerance | None, noisy: Any) -> float:
    import numpy as np

    if tolerance is None or tolerance.kind == "exact":
        return 0.0 if np.array_equal(as_numpy(actual), as_numpy(gold)) else math.inf
    one, two = numbers_of(actual), numbers_of(gold)
    if one.shape != two.shape:
        return math.inf
    finite = np.isfinite(one) & np.isfinite(two)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    if not (finite | same).all():
        return math.inf
    gap = one[finite] - two[finite]
    return excess(tolerance, gap, two[finite], noisy[finite] if noisy is not None else None)

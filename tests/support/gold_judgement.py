"""Compare a payload with gold and every accepted variant of it, as the solution was calibrated: without a replay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldsmith.comparison.against_gold import compare_case
from goldsmith.comparison.results import Comparison
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import GoldCase


@dataclass(frozen=True)
class Judgement:
    """The comparison with the nearest of the accepted golds; `met` names the variant it came from, "" the solution."""

    comparison: Comparison
    met: str = ""

    @property
    def excess(self) -> dict[str, float]:
        """Return the share of its tolerance that each leaf uses up: at most 1 is within."""
        return {leaf.path: leaf.excess for leaf in self.comparison.leaves}

    @property
    def worst(self) -> float:
        return max(self.excess.values(), default=math.inf)

    @property
    def agrees(self) -> bool:
        return self.comparison.agrees


def judge(actual: Mapping[str, Any], gold: GoldCase) -> Judgement:
    """Compare `actual`, a payload with the keys of a gold file, with the case and every variant it accepts.

    The nearest of them counts.
    """
    leaves = judged_part(actual)
    golds = {"": gold, **gold.variants}
    found = [Judgement(compare_case(leaves, judged_part(item.data), item), name) for name, item in golds.items()]
    return min(found, key=lambda item: (not item.agrees, item.worst))

"""Comparison: gold beside actual, tensor by tensor. Knows nothing of terminals, courses or pytest.

`compare` is imported when it is first asked for: NumPy comes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.comparison.bits import Difference, bit_differences
from goldsmith.comparison.judging import Judgement, compare_case, judge, tolerances_of
from goldsmith.comparison.results import TEXTS, Comparison, LeafComparison
from goldsmith.doors import late

if TYPE_CHECKING:
    from goldsmith.comparison.engine import compare
    from goldsmith.comparison.leaves import NotComparable

__all__ = [
    "TEXTS",
    "Comparison",
    "Difference",
    "Judgement",
    "LeafComparison",
    "NotComparable",
    "bit_differences",
    "compare",
    "compare_case",
    "judge",
    "tolerances_of",
]

__getattr__ = late(
    "goldsmith.comparison",
    {"compare": "goldsmith.comparison.engine", "NotComparable": "goldsmith.comparison.leaves"},
)

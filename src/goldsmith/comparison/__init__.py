"""Comparison: gold beside actual, tensor by tensor. Knows nothing of terminals, courses or pytest."""

from goldsmith.comparison.bits import Difference, bit_differences
from goldsmith.comparison.judging import Judgement, judge

__all__ = ["Difference", "Judgement", "bit_differences", "judge"]

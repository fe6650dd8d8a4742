"""Comparison: gold beside actual, tensor by tensor. Knows nothing of terminals, courses or pytest."""

from goldsmith.comparison.bits import Difference, bit_differences

__all__ = ["Difference", "bit_differences"]

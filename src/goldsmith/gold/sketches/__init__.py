"""Sketches: a few sums with pseudo-random signs that stand for a tensor. They tell whether another tensor is the same
and by about how much it is off, and not what it should be."""

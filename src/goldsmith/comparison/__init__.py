"""Comparison: gold beside actual, tensor by tensor. Knows nothing of terminals, courses or pytest.

`compare` is imported when it is first asked for: NumPy comes with it.
"""

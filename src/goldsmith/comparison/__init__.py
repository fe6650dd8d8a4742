"""Compare actual values with gold, tensor by tensor. Knows nothing of terminals, courses or pytest.

`compare` is imported lazily, because it brings NumPy with it.
"""

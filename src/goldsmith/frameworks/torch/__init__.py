"""What Goldsmith knows of torch."""

SUFFIX = ".pt"
"""Of files that the library writes, and that it reads with its own function."""

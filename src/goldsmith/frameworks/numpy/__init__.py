"""What Goldsmith knows of NumPy, which has no models, and no way to watch or disturb its operations."""

SUFFIX = ".npz"

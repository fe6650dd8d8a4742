"""The basics of a transformer."""

import importlib.metadata

__version__ = importlib.metadata.version("transformer-basics")

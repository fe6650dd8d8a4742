"""NumPy in a process, which knows of no device but the CPU."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

PACKAGES = ("numpy",)
_USUAL = "goldsmith.frameworks.usual"
_LATE = ("numpy.random", "safetensors.numpy", f"{_USUAL}_arrays", f"{_USUAL}_numerics")


def preload() -> None:
    """Import what NumPy imports when a process draws its first number, and what is asked of every child: 20 ms."""
    for name in _LATE:
        importlib.import_module(name)


def environment(device: str) -> dict[str, Any]:
    return {"numpy": np.__version__}

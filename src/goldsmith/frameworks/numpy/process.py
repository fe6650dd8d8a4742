"""NumPy in a process, which knows of no device but the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

PACKAGES = ("numpy",)


def environment(device: str) -> dict[str, Any]:
    return {"numpy": np.__version__}

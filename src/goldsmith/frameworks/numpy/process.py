"""NumPy in a process, which knows of no device but the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

PACKAGES = ("numpy",)


def preload() -> None:
    """Do nothing: to import NumPy is all."""


def keep_compiled() -> None:
    """Do nothing: it compiles nothing."""


def is_started() -> bool:
    return False


def devices() -> list[str]:
    return []


def device_names() -> list[str]:
    return []


def has_device(device: str) -> bool:
    return False


def settle(device: str) -> None:
    """Do nothing: it computes on no device."""


def limit_memory(device: str, size: int) -> None:
    """Do nothing: it has no arrays on a device."""


def environment(device: str) -> dict[str, Any]:
    return {"numpy": np.__version__}


def cpu_capability() -> str:
    return ""

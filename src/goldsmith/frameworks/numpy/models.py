"""NumPy has no models; objects that hold arrays are those of everybody (`weights/object_weights.py`)."""

from __future__ import annotations

from typing import Any

TYPES: tuple[type, ...] = ()
CALLED = "__call__"
IN_STEP = False
UNSEEN = ""
OPTIMISERS: tuple[type, ...] = ()


def adopted(value: Any) -> Any:
    return value

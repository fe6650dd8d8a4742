"""Doors of rooms that open late: what a package offers is imported when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def late(package: str, rooms: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for `package`: each name from the module that has it."""

    def find(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(rooms[name]), name)

    return find

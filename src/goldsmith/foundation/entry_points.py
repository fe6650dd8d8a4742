"""What other distributions have registered with goldsmith, by entry points."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Return what is registered in a group, by name; nothing is imported of it."""
    if not _is_named_anywhere(f"[{group}]".encode()):
        return {}
    from importlib.metadata import entry_points

    return {item.name: item for item in entry_points(group=group)}


def _is_named_anywhere(group: bytes) -> bool:
    """Look for the group's name in all metadata: 2 ms, where to import and ask `importlib.metadata` takes 50."""
    for folder in sys.path:
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with contextlib.suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb") as file:
                        if group in file.read():
                            return True
    return False

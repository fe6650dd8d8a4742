"""Testing: gold in the hands of a pytest test. What the plugin's hooks and fixtures do lives here, behind thin hooks.

Every name is imported when it is first asked for: a pytest that never speaks of gold must not wait for NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldsmith.testing.collecting import GoldOf, judged_case
    from goldsmith.testing.errors import GoldMismatch
    from goldsmith.testing.handles import CaseForTests, GoldForTests
    from goldsmith.testing.replays import JudgedCase, Replay

__all__ = ["CaseForTests", "GoldForTests", "GoldMismatch", "GoldOf", "JudgedCase", "Replay", "judged_case"]

_ROOMS = {
    "CaseForTests": "goldsmith.testing.handles",
    "GoldForTests": "goldsmith.testing.handles",
    "GoldMismatch": "goldsmith.testing.errors",
    "GoldOf": "goldsmith.testing.collecting",
    "JudgedCase": "goldsmith.testing.replays",
    "Replay": "goldsmith.testing.replays",
    "judged_case": "goldsmith.testing.collecting",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'goldsmith.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)

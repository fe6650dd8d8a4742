"""Goldsmith: gold-standard test fixtures from a reference solution.

The public face. In a recipe: `case`, `checkpoint`, `main`, `seed_everything`. In tests: `load` and `compare`.
Importing it is cheap: everything behind a name is imported when that name is first used.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from goldsmith._version import __version__

if TYPE_CHECKING:
    from goldsmith.comparison.engine import compare
    from goldsmith.reading import load
    from goldsmith.recording.cases import Case
    from goldsmith.recording.entry import main
    from goldsmith.recording.registry import case, checkpoint
    from goldsmith.recording.seeding import seed_everything

__all__ = ["Case", "__version__", "case", "checkpoint", "compare", "load", "main", "seed_everything"]

_ROOMS = {
    "Case": "goldsmith.recording.cases",
    "case": "goldsmith.recording.registry",
    "checkpoint": "goldsmith.recording.registry",
    "main": "goldsmith.recording.entry",
    "seed_everything": "goldsmith.recording.seeding",
    "compare": "goldsmith.comparison.engine",
    "load": "goldsmith.reading",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'goldsmith' has no attribute {name!r}")
    value = getattr(importlib.import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def _prepare_recipe() -> None:
    """A recipe started by hand, or a process that a recipe started, imports goldsmith early: from then on both names
    of the assignment's code must work there."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script and script.endswith("generate_fixtures.py"):
        from goldsmith.reading import prepare_recipe

        prepare_recipe(script)
    elif "GOLDSMITH_RECIPE" in os.environ:
        from goldsmith.recording import imports

        imports.install_announced()


_prepare_recipe()

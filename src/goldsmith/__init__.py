"""Gold-standard test fixtures from a reference solution: the names that users import.

In a recipe: `case`, `checkpoint`, `main`, `seed_everything`. In tests and scripts: `load`, `compare` and `parity`,
what they return and what they raise. Other modules are private by convention, but for `adapter`, `engine`, `mutation`
and `run_recipe`.

Importing this imports nothing else and changes nothing in the process: a name is looked up at its first use (PEP 562).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from goldsmith._version import __version__

if TYPE_CHECKING:
    from goldsmith.api import load
    from goldsmith.comparison.api import compare
    from goldsmith.comparison.leaves import NotComparable
    from goldsmith.comparison.results import Comparison
    from goldsmith.errors.base import GoldsmithError
    from goldsmith.errors.pytest import GoldMismatch
    from goldsmith.gold.load import Gold, GoldCase
    from goldsmith.parity_api import Parity, parity
    from goldsmith.recipe.case import Case
    from goldsmith.recipe.decorators import case, checkpoint
    from goldsmith.recipe.seeding import seed_everything
    from goldsmith.worker.run_directly import main

__all__ = [
    "Case",
    "Comparison",
    "Gold",
    "GoldCase",
    "GoldMismatch",
    "GoldsmithError",
    "NotComparable",
    "Parity",
    "__version__",
    "case",
    "checkpoint",
    "compare",
    "load",
    "main",
    "parity",
    "seed_everything",
]

_MODULES = {
    "Case": "goldsmith.recipe.case",
    "Comparison": "goldsmith.comparison.results",
    "Gold": "goldsmith.gold.load",
    "GoldCase": "goldsmith.gold.load",
    "GoldMismatch": "goldsmith.errors.pytest",
    "GoldsmithError": "goldsmith.errors.base",
    "NotComparable": "goldsmith.comparison.leaves",
    "Parity": "goldsmith.parity_api",
    "case": "goldsmith.recipe.decorators",
    "checkpoint": "goldsmith.recipe.decorators",
    "compare": "goldsmith.comparison.api",
    "load": "goldsmith.api",
    "main": "goldsmith.worker.run_directly",
    "parity": "goldsmith.parity_api",
    "seed_everything": "goldsmith.recipe.seeding",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'goldsmith' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

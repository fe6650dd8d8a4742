"""The blocks of `examples/porting`, imported as two repositories that have modules of the same name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "porting"


def load(file: str, **beside: ModuleType) -> Any:
    """Import a file of the example; it finds the modules that it imports in `beside`."""
    path = EXAMPLE / file
    spec = importlib.util.spec_from_file_location(f"porting_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = {name: sys.modules.get(name) for name in beside}
    sys.modules.update(beside)
    try:
        spec.loader.exec_module(module)
    finally:
        for name, other in before.items():
            if other is None:
                del sys.modules[name]
            else:
                sys.modules[name] = other
    return module

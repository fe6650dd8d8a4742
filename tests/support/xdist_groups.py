"""Which worker runs which test: those of a file that share a fixture stay together, and go first.

Else every worker would make the fixture. Tests that share nothing come last, one by one, which evens out what the
workers have to do.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_SHARES = re.compile(r'scope="module"|^def test_[^)]*\b(warm|checked): ', re.M)
"""A file has a fixture of its own for all its tests, or uses one of `conftest.py`."""


class _Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return file if _shares_fixtures(Path(self.config.rootpath, file)) else nodeid


@functools.cache
def _shares_fixtures(file: Path) -> bool:
    return file.is_file() and bool(_SHARES.search(file.read_text(encoding="utf-8")))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return _Together(config, log) if config.getvalue("dist") == "loadgroup" else None

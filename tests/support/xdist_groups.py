"""Which worker runs which test: those of a file that share a fixture, or of one `xdist_group`, stay together, and go
first.

Else every worker would make the fixture. Tests that share nothing come last, one by one, which evens out what the
workers have to do. (pytest-xdist names groups at the end of a test's id, which a recent pytest no longer lets it
change.)
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
_GROUP = re.compile(r'^pytestmark = [^@]*?xdist_group\("([^"]+)"\)', re.M)


class _Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return _group_of(self.config.rootpath, file) or nodeid


@functools.cache
def _group_of(root: Path, file: str) -> str:
    text = Path(root, file).read_text(encoding="utf-8") if Path(root, file).is_file() else ""
    named = _GROUP.search(text)
    return named[1] if named else file if _SHARES.search(text) else ""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return _Together(config, log) if config.getvalue("dist") == "loadgroup" else None

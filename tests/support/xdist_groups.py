"""Which worker runs which test: those of one `xdist_group` stay together, for their fixtures are dear.

pytest-xdist names groups at the end of a test's id, which the pytest that we test with no longer lets it change: every
dear fixture was then made on every worker.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_GROUP = re.compile(r'^pytestmark = .*xdist_group\("([^"]+)"\)', re.M)


class _Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return _group_of(Path(self.config.rootpath, file)) or nodeid


@functools.cache
def _group_of(file: Path) -> str:
    found = _GROUP.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else ""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return _Together(config, log) if config.getvalue("dist") == "loadgroup" else None

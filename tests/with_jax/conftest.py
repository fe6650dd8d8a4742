"""Tests that need JAX, which `make test-jax` installs; elsewhere they are not collected. `make test` leaves them out.

The folder is not called jax: tests/ is on the path of imports, where it would be taken for the library.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("jax") else ["*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.long)

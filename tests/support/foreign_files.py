"""What somebody else has made: old enough to be taken for rubbish, and compared byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

LONG_AGO = 1_000_000_000
TEST_FILE = "tests/internal/test_hw1.py"
TEST = """
    import sys
    import pytest

    sys.path.insert(0, "src/assignments/hw1")
    import ops

    pytestmark = pytest.mark.rigor

    def test_values():
        assert ops.scale(1.0) == 3.0
"""


def age(folder: Path) -> None:
    """Make everything in a folder, and the folder, look as if nobody had touched it for decades."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def bytes_in(folder: Path) -> dict[str, bytes | str]:
    """Every path below a folder: a file by its bytes, a link by where it leads."""
    found: dict[str, bytes | str] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
    return found

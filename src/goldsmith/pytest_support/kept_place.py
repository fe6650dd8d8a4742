"""Where a test's own values are kept: a file or folder for each check, in `test_block.gold/` next to
`test_block.py`."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from goldsmith.errors.pytest import BadCheckName, ChangingTestName
from goldsmith.pytest_support.kept_entry import case_name
from goldsmith.pytest_support.one_file import SUFFIX, one_file_of
from goldsmith.targets.target import GOLD_SUFFIX

_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_.,=+\-\[\]]")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_LONGEST_NAME = 100
"""Characters. A folder's name may have 255 bytes on most file systems, and some are needed while it is written."""


@dataclass(frozen=True)
class KeptPlace:
    """One check of one test. `test` is the test's name in its file, classes and parameters included."""

    file: Path
    test: str
    check: str
    shown_from: Path

    @property
    def folder(self) -> Path:
        return kept_folder(self.file) / _folder_name(self.test, self.check)

    @property
    def one_file(self) -> Path:
        """Return the file that the check lies in if it is small, and not in its folder."""
        return one_file_of(self.folder)

    @property
    def standing(self) -> Path:
        """Return the one of both that is there, the folder if none is."""
        return self.one_file if self.one_file.exists() else self.folder

    @property
    def case(self) -> str:
        """Return the name of the check's case in its manifest."""
        return case_name(self.test, self.check)

    @property
    def shown(self) -> str:
        """Return the file or folder as a person at the terminal would write it."""
        return shown_path(self.standing, self.shown_from)

    def shown_as(self, name: str) -> str:
        """Return the path of what will stand under this name."""
        return shown_path(self.folder.with_name(name), self.shown_from)


def kept_folder(test_file: Path) -> Path:
    return test_file.with_suffix(GOLD_SUFFIX)


def shown_path(path: Path, start: Path) -> str:
    return os.path.relpath(path, start) if path.is_relative_to(start) else str(path)


def name_in_file(node_id: str) -> str:
    return node_id.partition("::")[2]


def place_of(item: pytest.Item, check: str | None, shown_from: Path) -> KeptPlace:
    """Return where a check is kept; refuse names that will be others in the next run."""
    if check is not None and (not isinstance(check, str) or not check.strip()):
        raise BadCheckName(check)
    test = name_in_file(item.nodeid)
    if _ADDRESS.search(test):
        raise ChangingTestName(test)
    return KeptPlace(item.path, test, check or "", shown_from)


def _folder_name(test: str, check: str) -> str:
    """Return a name for any file system; what does not fit in is told apart by a hash."""
    name = ".".join(filter(None, (test.replace("::", "."), check)))
    plain = _OTHER_CHARACTERS.sub("_", name)
    if plain == name and len(name) <= _LONGEST_NAME and not name.endswith((".", SUFFIX)):
        return name
    digest = hashlib.sha256(f"{test}\0{check}".encode()).hexdigest()[:10]
    return f"{plain[: _LONGEST_NAME - len(digest) - 1]}-{digest}"

"""What a failed check was given, kept for inspection in pytest's cache, in the form of gold. The cache may have come
with a pull request: no link in it is followed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.beneath import first_link
from goldsmith.foundation.nested import walk
from goldsmith.foundation.ownership import remove_tree
from goldsmith.gold.arrays import is_array
from goldsmith.pytest_support.kept_entry import ToKeep
from goldsmith.pytest_support.kept_gold import stage_kept
from goldsmith.pytest_support.kept_place import KeptPlace, kept_folder, shown_path
from goldsmith.pytest_support.one_file import one_file_of

if TYPE_CHECKING:
    import pytest

FOLDER = "gold-obtained"
_LARGEST = 100 * 2**20
"""Bytes of one check; more would fill a disk in a run in which everything fails."""


def obtained_folder(config: pytest.Config) -> Path | None:
    """Return the folder for obtained values in pytest's cache, which git ignores, whether it exists or not; None where
    pytest has no cache, or a link leads to it."""
    if getattr(config, "cache", None) is None:
        return None
    cache = Path(config.rootpath, os.path.expandvars(os.path.expanduser(config.getini("cache_dir"))))
    around = cache / "d" / FOLDER
    base = config.rootpath if cache.is_relative_to(config.rootpath) else cache
    return None if first_link(base, around) else around


def keep_obtained(around: Path | None, config: Any, place: KeptPlace, value: Any) -> str:
    """Keep what a check was given, and return a line that says where."""
    size = sum(leaf.nbytes for _, leaf in walk(value) if is_array(leaf))
    folder = _folder_in(around, place)
    if around is None or folder is None or size > _LARGEST:
        return ""
    try:
        config.cache.mkdir(FOLDER)  # with the files that keep git from it
        forget_obtained(around, place)
        found = stage_kept(place, ToKeep(value), folder)
    except (OSError, GoldsmithError):  # the check has failed already, and says why
        return ""
    return f"  obtained in {shown_path(found, place.shown_from)}"


def forget_obtained(around: Path | None, place: KeptPlace) -> None:
    """Remove what an earlier run has kept of the check."""
    folder = _folder_in(around, place)
    if folder is None or not folder.is_dir():
        return
    one_file_of(folder / place.folder.name).unlink(missing_ok=True)
    remove_tree(folder / place.folder.name)
    with contextlib.suppress(OSError):
        while folder != around:
            folder.rmdir()
            folder = folder.parent


def _folder_in(around: Path | None, place: KeptPlace) -> Path | None:
    """Return the folder for a test file's values: named as beside it, below the way to it from pytest's root; None if a
    link is on its way."""
    if around is None:
        return None
    way = os.path.relpath(kept_folder(place.file), around)
    folder = around.joinpath(*(part for part in Path(way).parts if part not in ("..", Path(way).anchor)))
    return None if first_link(around.parent, folder) else folder

"""Tell the files of the code under test from those that are merely installed: Python's, packages', goldsmith's own."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache

import goldsmith
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.process.messages import Job

IGNORED = LITTER | {".git", ".goldsmith"}


class OwnFiles:
    """The Python files of an implementation: those in the assignment's `folder`, or, where a recipe runs in place, all
    that are installed nowhere and those in `also`; never the recipe itself."""

    def __init__(self, folder: str, recipe: str, *, in_place: bool = False, also: Sequence[str] = ()) -> None:
        self._recipe = recipe
        self._is_own: Callable[[str], bool] = _below((folder,))
        if in_place:
            own = _below(also)
            self._is_own = lambda file: os.path.isabs(file) and (own(file) or not is_installed(file))

    @classmethod
    def of(cls, job: Job) -> OwnFiles:
        """Make the files of a job's implementation."""
        also = [where for _, where in job.replacements if os.path.isabs(where)]
        return cls(job.folder, job.recipe, in_place=bool(job.search_path), also=also)

    def __contains__(self, file: str) -> bool:
        return file != self._recipe and self._is_own(file)


class NotRead:
    """Files below the root of a recipe that runs in place that do not count as read by it: installed ones, its own
    scratch files, and tools' leftovers."""

    def __init__(self, job: Job) -> None:
        self._own = _below((job.scratch, job.output))

    def __contains__(self, file: object) -> bool:
        assert isinstance(file, str)
        return self._own(file) or is_installed(file) or not IGNORED.isdisjoint(file.split(os.sep))


def is_installed(file: str) -> bool:
    """Say whether a file lies where Python, packages or goldsmith are installed."""
    return _installed()(file)


@lru_cache(maxsize=1)
def _installed() -> Callable[[str], bool]:
    paths = sysconfig.get_paths()
    places = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(goldsmith.__file__)}
    if sys.prefix != sys.base_prefix:
        places.add(sys.prefix)  # all of a virtual environment, which may lie in the project
    return _below([*places, *map(os.path.realpath, places)])


def _below(folders: Sequence[str]) -> Callable[[str], bool]:
    starts = tuple(folder.rstrip(os.sep) + os.sep for folder in folders if folder)
    return lambda file: file.startswith(starts) or file in folders

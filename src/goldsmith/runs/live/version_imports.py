"""What a side of another version imports: that version's files, and never those of the one that is here."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from goldsmith.runs.implementation import SideJob

_INSTALLED = {"site-packages", "dist-packages"}


class ImportedFromElsewhere(Exception):
    """A module that is not of the version that was asked for."""


def enter_tree(job: SideJob) -> None:
    """Have modules found in the tree of a revision, wherever they were found in the tree that is here."""
    if job.tree:
        here = Path(job.instead_of)
        sys.path[:] = [
            str(Path(job.tree) / Path(path).relative_to(here)) if _is_own(Path(path), here) else path
            for path in sys.path
        ]


def check_version(job: SideJob) -> Iterator[str]:
    """Raise if a module was imported from elsewhere; yield notes about packages of which nothing was."""
    if job.tree:
        for name, file in _files():
            if _is_own(file, Path(job.instead_of)) and name.partition(".")[0] != "goldsmith":
                raise ImportedFromElsewhere(f"imports {name} from {file}, which is not of {job.version}")
    for package in job.packages:
        found = importlib.metadata.distribution(package)
        where = Path(str(found.locate_file(""))).resolve()
        tops = {item.parts[0].removesuffix(".py") for item in found.files or () if item.suffix == ".py"}
        imported = [(name, file) for name, file in _files() if name in tops]
        for name, file in imported:
            if not file.is_relative_to(where):
                raise ImportedFromElsewhere(f"imports {name} from {file}, which is not of {job.version}")
        if not imported:
            yield f"does not import {package}, so that its version changes nothing"


def _is_own(path: Path, root: Path) -> bool:
    """Say whether a path is in a tree, and not what is installed in an environment there."""
    return path.is_relative_to(root) and not _INSTALLED.intersection(path.relative_to(root).parts)


def _files() -> Iterator[tuple[str, Path]]:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
        if isinstance(file, str):
            yield name, Path(file).resolve()

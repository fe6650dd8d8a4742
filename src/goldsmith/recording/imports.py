"""How a recipe imports the assignment's code, whatever the folder is called.

`from backbone import X` and `from src.assignments.scratch_1 import backbone` name the same module object,
although no folder is called `scratch_1`: the dotted name is the real one (so that relative imports inside
an assignment work too) and the short name leads to it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_VARIABLE = "GOLDSMITH_RECIPE"


def install(root: Path, folder: Path) -> None:
    """Make the assignment in `folder`, part of the course at `root`, importable by both of its names."""
    for path in (str(root), str(folder)):
        while path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)
    sys.meta_path.insert(0, _AssignmentFinder(root, folder))


def announce(root: Path, folder: Path) -> None:
    """Let processes that the recipe starts (a loader's workers) find the code by the same names."""
    os.environ[_VARIABLE] = f"{root}{os.pathsep}{folder}"


def install_announced() -> None:
    """In such a process, once it imports goldsmith."""
    announced = os.environ.get(_VARIABLE, "").split(os.pathsep)
    if len(announced) == 2 and not any(isinstance(finder, _AssignmentFinder) for finder in sys.meta_path):
        install(Path(announced[0]), Path(announced[1]))


def module_name(text: str) -> str:
    """`scratch-1` as Python must spell it."""
    return re.sub(r"\W", "_", text)


class _AssignmentFinder(importlib.abc.MetaPathFinder):
    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        self._packages: dict[str, Path] = {}
        name, path = "", root
        for part in folder.relative_to(root).parts:
            path = path / part
            name = f"{name}.{module_name(part)}" if name else module_name(part)
            self._packages[name] = path
        self._package = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self._packages:
            return _package_spec(fullname, self._packages[fullname])
        if "." not in fullname and self._is_module(fullname):
            return importlib.machinery.ModuleSpec(fullname, _Alias(f"{self._package}.{fullname}"))
        return None

    def _is_module(self, name: str) -> bool:
        return (self._folder / f"{name}.py").is_file() or (self._folder / name / "__init__.py").is_file()


def _package_spec(name: str, folder: Path) -> importlib.machinery.ModuleSpec | None:
    init = folder / "__init__.py"
    if init.is_file():
        return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec


class _Alias(importlib.abc.Loader):
    """Loads a module by its real name and hands that very object out under the short one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has just overwritten it with the alias's

"""Imports of a recipe that runs in place: from the environment as it stands, with another implementation in the place
of some modules where that is asked for.

Modules of the code under test are compiled from their sources: a cached file is taken for current by its second and
size, and two quick edits can agree in both.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import Job, ReplayJob
from goldsmith.recipe.imports import Alias, Forgiving, package_spec, prepare_spawned_processes
from goldsmith.recipe.missing_parts import MissingPart, imported_from
from goldsmith.targets.target import EVERYTHING, Replacements


def install_in_place(job: Job) -> None:
    """Put the recipe's folder before the environment, the project's after it, and replacements before all.

    In a replay, names that the recipe imports and that are missing become `MissingPart` there. Processes that it starts
    find the same modules.
    """
    first, *last = job.search_path
    sys.path[:] = [first, *(path for path in sys.path if path != first)]
    sys.path += [path for path in last if path not in sys.path]
    recipe = job.recipe if isinstance(job, ReplayJob) and not job.trials else ""
    sys.meta_path.insert(0, InPlaceFinder(job.replacements, OwnFiles.of(job), recipe))
    prepare_spawned_processes(install_in_place, job)


class InPlaceFinder(importlib.abc.MetaPathFinder):
    """Finds modules of the code under test, and what takes the place of some of them."""

    def __init__(self, replacements: Replacements, own_files: OwnFiles, recipe: str) -> None:
        self._own_files, self._recipe = own_files, recipe
        self._folders = [where for name, where in replacements if name == EVERYTHING]
        self._aliases: dict[str, str] = {}
        self._places: dict[str, Path] = {}
        for name, where in replacements:
            if name != EVERYTHING:
                self._replace(name, where)

    def _replace(self, name: str, where: str) -> None:
        path = Path(where)
        if not path.is_absolute():
            self._aliases[name] = where
            return
        if path.is_dir() and path.name.isidentifier() and path.name != name.rpartition(".")[2]:
            # its own code imports it by its own name; both names are then the same module
            self._places[path.name], self._aliases[name] = path, path.name
        else:
            self._places[name] = path
        beside = str(path.parent)
        if path.is_file() and beside not in sys.path:
            sys.path.insert(0, beside)  # its siblings, as Python does for a script

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for name, real in self._aliases.items():
            if fullname == name or fullname.startswith(f"{name}."):
                return importlib.machinery.ModuleSpec(fullname, self._alias(real + fullname[len(name) :], fullname))
        return self._from_source(self._find(fullname, path, target), fullname)

    def _find(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self._places:
            place = self._places[fullname]
            if place.is_dir():
                return package_spec(fullname, place)
            return importlib.util.spec_from_file_location(fullname, place)
        if "." not in fullname and fullname not in sys.stdlib_module_names:
            for folder in self._folders:
                spec = importlib.machinery.PathFinder.find_spec(fullname, [folder])
                if spec is not None and (spec.loader is not None or any(Path(folder, fullname).glob("*.py"))):
                    return spec
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        is_own = spec is not None and spec.origin is not None and os.path.abspath(spec.origin) in self._own_files
        return spec if is_own else None

    def _from_source(
        self, spec: importlib.machinery.ModuleSpec | None, fullname: str
    ) -> importlib.machinery.ModuleSpec | None:
        if spec is None:
            return None
        if isinstance(spec.loader, importlib.machinery.SourceFileLoader) and spec.origin is not None:
            spec.loader = _SourceLoader(fullname, spec.origin)
        if self._recipe and spec.loader is not None:
            spec.loader = Forgiving(spec.loader, self._recipe)
        return spec

    def _alias(self, real: str, fullname: str) -> importlib.abc.Loader:
        return _ForgivingAlias(real, fullname, self._recipe) if self._recipe else Alias(real, fullname)


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """A loader that reads no cached bytecode."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _ForgivingAlias(Alias):
    """An alias for a module that another implementation may lack: what the recipe imports from it is then missing."""

    def __init__(self, real: str, fullname: str, recipe: str) -> None:
        super().__init__(real, fullname)
        self._recipe = recipe

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return super().create_module(spec)
        except ModuleNotFoundError:
            if not imported_from(self._recipe):
                raise
        return _absent(spec.name)


def _absent(name: str) -> ModuleType:
    module = ModuleType(name)

    def answer(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return MissingPart(f"{name.rpartition('.')[2]}.{attribute}")

    module.__dict__["__getattr__"] = answer
    return module

"""Imports of the assignment's code from a recipe, whatever the folder is called.

`from backbone import X` and `from src.assignments.scratch_1 import backbone` name the same module object,
although no folder is called `scratch_1`: the dotted name is the real one (so that relative imports inside
an assignment work too) and the short name is an alias.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from goldsmith.foundation.on_import import when_imported
from goldsmith.recipe.missing_parts import MissingPart, imported_from, unfinished


def install(root: Path, folder: Path, *, tolerant: Path | None = None) -> None:
    """Make the assignment in `folder`, part of the course at `root`, importable by both of its names.

    Names that the `tolerant` recipe imports and that are missing become `MissingPart` there; other imports fail as
    usual.
    """
    for path in (str(root), str(folder)):
        while path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)
    sys.meta_path.insert(0, _AssignmentFinder(root, folder, tolerant))
    if _find_by_plain_path not in sys.path_hooks:
        sys.path_hooks.insert(0, _find_by_plain_path)


def _find_by_plain_path(entry: str) -> importlib.machinery.FileFinder:
    """Find modules in an entry of `sys.path` that is written as `./python` or `..` by the folder's full path.

    The assignment's own code is recognised by the paths of its files.
    """
    plain = os.path.abspath(entry)
    if plain == entry or not os.path.isdir(plain):
        raise ImportError(entry)  # tells the import system to try the next hook
    machinery = importlib.machinery
    return machinery.FileFinder(
        plain,
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )


def announce_distribution(folder: Path, scratch: Path) -> None:
    """Write metadata for a repository that asks for its own, as only an installed one has."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        name, version = str(project["name"]), str(project.get("version", "0"))
    except (OSError, ValueError, KeyError, TypeError):
        return
    entry = scratch / "metadata" / f"{re.sub('[-_.]+', '_', name)}-{version}.dist-info"
    entry.mkdir(parents=True, exist_ok=True)
    (entry / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    sys.path.append(str(entry.parent))


def prepare_spawned_processes(install: Callable[..., None], *arguments: Any) -> None:
    """Have processes that the recipe starts (the workers of a data loader) call `install` with these arguments, too.

    A forked process inherits everything. To a new interpreter `multiprocessing` sends a dictionary that is unpickled
    before anything of the recipe is imported: unpickling our entry makes the call there.
    """
    installation = _Installation(install, arguments)
    when_imported("multiprocessing.spawn", lambda spawn: _send_with_preparation(spawn, installation))
    # a fork server would import the recipe before it is sent anything
    when_imported("multiprocessing.forkserver", lambda server: server.set_forkserver_preload([]))


def _send_with_preparation(spawn: Any, installation: _Installation) -> None:
    prepare = spawn.get_preparation_data

    @functools.wraps(prepare)
    def get_preparation_data(name: str) -> dict[str, Any]:
        return {"goldsmith": installation, **prepare(name)}

    spawn.get_preparation_data = get_preparation_data


class _Installation:
    """An object that makes a call in the process that unpickles it; `multiprocessing` ignores entries it does not
    know."""

    def __init__(self, install: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._call = (install, arguments)

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return self._call


def module_name(text: str) -> str:
    """Return a name such as `scratch-1` as a Python identifier."""
    return re.sub(r"\W", "_", text)


class _AssignmentFinder(importlib.abc.MetaPathFinder):
    def __init__(self, root: Path, folder: Path, tolerant: Path | None = None) -> None:
        self._folder = folder
        self._tolerant = tolerant
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
            return package_spec(fullname, self._packages[fullname])
        if self._package and self._is_module(fullname.partition(".")[0]):
            return importlib.machinery.ModuleSpec(fullname, Alias(f"{self._package}.{fullname}", fullname))
        if self._tolerant:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None and self._is_inside(spec.origin):
                spec.loader = Forgiving(spec.loader, str(self._tolerant))
                return spec
        return None

    def _is_inside(self, origin: str | None) -> bool:
        """Say whether a module is the assignment's, by whichever entry of `sys.path` it was found."""
        return origin is not None and origin.startswith(f"{self._folder}{os.sep}")

    def _is_module(self, name: str) -> bool:
        folder = self._folder / name
        return (self._folder / f"{name}.py").is_file() or (folder.is_dir() and any(folder.glob("*.py")))


def package_spec(name: str, folder: Path) -> importlib.machinery.ModuleSpec | None:
    init = folder / "__init__.py"
    if init.is_file():
        return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec


class Alias(importlib.abc.Loader):
    """A loader that imports a module by its real name and returns the same object under the short one."""

    def __init__(self, name: str, short: str) -> None:
        self._name, self._short = name, short
        self._spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            module = importlib.import_module(self._name)
        except ModuleNotFoundError as missing:
            if missing.name != self._name:
                raise
            raise ModuleNotFoundError(f"No module named {self._short!r}", name=self._short) from None
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has just overwritten it with the alias's


class Forgiving(importlib.abc.Loader):
    """A loader for modules that the recipe imports although they fail or lack a name: missing names become
    `MissingPart`."""

    def __init__(self, loader: importlib.abc.Loader, recipe: str) -> None:
        self._loader, self._recipe = loader, recipe

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._loader, attribute)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        cause: BaseException | None = None
        try:
            self._loader.exec_module(module)
        except (Exception, SystemExit) as error:
            if not imported_from(self._recipe):
                raise
            cause = unfinished[module.__name__] = error
        if cause is not None or not hasattr(module, "__getattr__"):
            module.__dict__["__getattr__"] = self._answer(module.__name__, cause)

    def _answer(self, module: str, cause: BaseException | None) -> Callable[[str], Any]:
        def answer(name: str) -> Any:
            # `from package import module` asks twice: first the import system, which imports the submodule only after
            # an AttributeError, then the recipe itself
            if name.startswith("__") or sys._getframe(1).f_code.co_filename != self._recipe:
                raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
            return MissingPart(f"{module.rpartition('.')[2]}.{name}", cause)

        return answer

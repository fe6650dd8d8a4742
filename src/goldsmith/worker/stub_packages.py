"""Inert modules in place of packages that a submission imports, that are not installed, and that grading does not need.

Plotting and logging: whatever is asked of them, nothing happens.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

used: list[str] = []
"""Packages that a stand-in was given for, in this process."""


def install(names: Sequence[str]) -> None:
    """From here on an import of one of `names` succeeds, at the latest with a stand-in."""
    if names:
        sys.meta_path.append(_LastResort(names))


class _LastResort(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked when nobody else has found a module."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self._names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        package = spec.name.partition(".")[0]
        if package not in used:
            used.append(package)
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    """Can be called, entered, indexed, decorated with, and derived from; nothing comes of it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        lone = args[0] if len(args) == 1 and not kwargs and callable(args[0]) else None
        return self if lone is None else lone

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: Any) -> None:
        pass

    def __iter__(self) -> Any:
        """As many as are asked for: `figure, axes = plt.subplots()`."""
        return iter((self, self))

    def __bool__(self) -> bool:
        return False

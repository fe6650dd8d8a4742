"""Stubs for packages that a submission imports, that are not installed, and that grading does not need.

These are plotting and logging packages: calls do nothing.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

used: list[str] = []
"""Packages that were replaced by a stub in this process."""


def install(names: Sequence[str]) -> None:
    """Let an import of one of `names` succeed, with a stub if it is not installed."""
    if names:
        sys.meta_path.append(_LastResort(names))


class _LastResort(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder, which is asked when no other has found a module."""

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
    """An object that can be called, entered, indexed, used as a decorator or base class, without any effect."""

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
        """Yield two, for `figure, axes = plt.subplots()`."""
        return iter((self, self))

    def __bool__(self) -> bool:
        return False

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

from goldsmith.instruments.own_files import is_installed

used: list[str] = []
"""Packages that were replaced by a stub in this process."""
_NOTEBOOK_BARS, _SHELL = "tqdm.notebook", "IPython"
_IMPORTING = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")


def install(names: Sequence[str]) -> None:
    """Let an import of one of `names` succeed, with a stub if it is not installed. `tqdm.notebook` is always a stub:
    without a notebook around it, the installed one raises."""
    if names:
        sys.meta_path.append(_LastResort(names))
    if _NOTEBOOK_BARS in names:
        sys.meta_path.insert(0, _LastResort([_NOTEBOOK_BARS], only=True))


class _LastResort(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder, which is asked when no other has found a module."""

    def __init__(self, names: Sequence[str], *, only: bool = False) -> None:
        self._names, self._only = tuple(names), only

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if self._meant(name) is None or (self._only and name not in self._names):
            return None
        if name.partition(".")[0] == _SHELL and is_installed(_importer()):
            return None  # Flax, for one, looks whether it runs in a notebook, and a stub says yes to everything
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _meant(self, name: str) -> str | None:
        """Return which of the names an import asks for: the package, a part of it, or a package around it."""
        asked = (item for item in self._names if f"{item}.".startswith(f"{name}.") or name.startswith(f"{item}."))
        return next(asked, None)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        is_bar = spec.name.partition(".")[0] == "tqdm"
        package = "tqdm" if is_bar else self._meant(spec.name) or spec.name
        if package not in used:
            used.append(package)
        return _ProgressBars(spec.name) if is_bar else _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def _importer() -> str:
    """Return the file with the import that is being carried out."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in (__file__, *_IMPORTING):
        frame = frame.f_back
    return frame.f_code.co_filename


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _ProgressBars(_StandIn):
    """Progress bars, which are loops all the same."""

    def __getattr__(self, name: str) -> Any:
        if name in ("tqdm", "tqdm_notebook"):
            return _Bar
        return (
            (lambda *args, **kwargs: _Bar(range(*args))) if name in ("trange", "tnrange") else super().__getattr__(name)
        )


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


class _Bar(_Nothing):
    """A progress bar that shows nothing: iterating over it yields what it was given."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Any:
        return iter(self._iterable)

    def __len__(self) -> int:
        return len(self._iterable)

    def __bool__(self) -> bool:
        return True

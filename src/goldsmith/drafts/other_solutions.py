"""Other right solutions in the place of the course's own: a drafted case must agree with them, too."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from goldsmith.source_code.rewriting.right_variants import whole_variants
from goldsmith.source_code.unwritten import functions_in

ENOUGH = 20
"""How many variants a case is tried on that differ in what it runs."""
_MOST = 48
"""How many are made: each rewrite applies to some functions only, and mixtures of all of them reach the others."""


class OtherSolutions:
    """The solution's files rewritten in ways that must not matter, all of them at once in each variant."""

    def __init__(self, folder: Path, files: Mapping[str, Path], parts: Collection[str]) -> None:
        """Rewrite `files`, which are those of modules, by name; `parts` are the functions whose runs are known."""
        self._folder, self._wanted = f"{folder}{os.sep}", list(files)
        made = {str(file): whole_variants(file.read_bytes(), most=_MOST) for file in dict.fromkeys(files.values())}
        self._codes: list[Mapping[str, CodeType]] = []
        self._forms: list[Mapping[tuple[str, str], str]] = []
        self._parts = frozenset(parts)
        self.names: list[str] = []
        own = {file: _functions(Path(file).read_bytes()) for file in made}
        for number in range(max(map(len, made.values()), default=0)):
            chosen = {file: items[number % len(items)] for file, items in made.items() if items}
            self._codes.append({file: compile(it.content, file, "exec") for file, it in chosen.items()})
            forms = {(file, name): form for file, it in chosen.items() for name, form in _functions(it.content).items()}
            self._forms.append({key: form for key, form in forms.items() if own[key[0]].get(key[1], form) != form})
            self.names.append(" and ".join(dict.fromkeys(item.description for item in chosen.values())))
        self._modules: dict[int, dict[str, ModuleType]] = {}

    def differing_in(self, runs: Collection[str]) -> list[int]:
        """Return up to `ENOUGH` variants that write what a case runs in different ways, and helpers of which nobody
        knows whether it does."""
        found: dict[tuple[tuple[tuple[str, str], str], ...], int] = {}
        for number, forms in enumerate(self._forms):
            here = {key: form for key, form in forms.items() if not runs or key[1] in runs or key[1] not in self._parts}
            if here:
                found.setdefault(tuple(sorted(here.items())), number)
        return sorted(found.values())[:ENOUGH]

    def works(self, number: int) -> bool:
        """Say whether a variant's modules can be imported at all; where they cannot, it is no solution."""
        with self.in_place(number):
            try:
                for name in self._wanted:
                    importlib.import_module(name)
            except (Exception, SystemExit):
                return False
        return True

    @contextlib.contextmanager
    def in_place(self, number: int) -> Iterator[None]:
        """Have the course's modules be those of a variant within this context."""
        own = self._take_out()
        sys.modules.update(self._modules.get(number, {}))
        loader = importlib.machinery.SourceFileLoader
        get_code: Callable[..., CodeType | None] = loader.get_code
        codes = self._codes[number]

        def changed_code(self: Any, fullname: str) -> CodeType | None:
            return codes.get(str(self.path)) or get_code(self, fullname)

        loader.get_code = changed_code  # type: ignore[method-assign]
        try:
            yield
        finally:
            loader.get_code = get_code  # type: ignore[method-assign]
            self._modules[number] = self._take_out()
            sys.modules.update(own)

    def _take_out(self) -> dict[str, ModuleType]:
        """Remove the course's modules from those that have been imported, and return them."""
        found = {
            name: module
            for name, module in list(sys.modules.items())
            if name != "__main__" and _place(module).startswith(self._folder)
        }
        for name in found:
            del sys.modules[name]
        return found


def _functions(source: bytes) -> dict[str, str]:
    """Return how functions and methods are written, by dotted name."""
    return {name: ast.dump(node) for name, node in (functions_in(source) or {}).items()}


def _place(module: Any) -> str:
    """Return a module's file; of a package without one, its folder."""
    file = getattr(module, "__file__", None)
    folders = [] if file else list(getattr(module, "__path__", None) or ())
    return str(file or (f"{folders[0]}{os.sep}" if folders else ""))

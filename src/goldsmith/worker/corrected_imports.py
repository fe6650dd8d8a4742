"""Import a submission's modules with the solution's own definition in the place of some of its parts.

The submission's files stay as they are: what they define under a part's name is replaced as they are compiled. A part
of the solution's finds other parts and provided code in the submission's module, and its helpers in its own.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import marshal
import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from goldsmith.foundation.syntax import syntax_tree
from goldsmith.source_code.compiled_parts import DEFINITION, CompiledParts, bound_names

_DEFINE = "__define_part__"


def install(corrections: Sequence[CompiledParts], folder: Path, recipe: Path) -> None:
    """Replace parts in every module that is imported from `folder` from now on, except for the recipe."""
    if not corrections:
        return
    homes = {str(folder / item.module): item for item in corrections}
    by_part = {part: item for item in corrections for part in item.parts}
    namespaces = {item.module: _Namespace(item) for item in corrections}
    loader = importlib.machinery.SourceFileLoader
    get_code: Callable[..., CodeType | None] = loader.get_code

    def corrected_code(self: Any, fullname: str) -> CodeType | None:
        path = str(self.path)
        if not path.startswith(f"{folder}{os.sep}") or path == str(recipe):
            return get_code(self, fullname)
        tree = syntax_tree(Path(path).read_bytes())
        _replace(tree, by_part, homes[path].parts if path in homes else ())
        return compile(tree, path, "exec", dont_inherit=True)

    def define(part: str) -> None:
        module = sys._getframe(1).f_globals
        module[part] = namespaces[by_part[part].module].define(part, module)

    setattr(builtins, _DEFINE, define)
    loader.get_code = corrected_code  # type: ignore[method-assign]


class _Namespace(dict[str, Any]):
    """The globals of the solution's parts of one module; what is not among them is looked up in the submission's."""

    def __init__(self, compiled: CompiledParts) -> None:
        super().__init__({"__builtins__": builtins})
        self._compiled = compiled
        self._modules: list[dict[str, Any]] = []

    def __missing__(self, name: str) -> Any:
        for module in self._modules:
            if name in module:
                return module[name]
        raise KeyError(name)

    def define(self, part: str, module: dict[str, Any]) -> Any:
        """Return the part, as it is for `module`."""
        is_first = not self._modules
        if not any(module is known for known in self._modules):
            self._modules.append(module)
        # the body of a class does not ask `__missing__`
        lent = {name: value for name, value in module.items() if name not in self or name == "__name__"}
        self.update(lent)
        if is_first:
            exec(marshal.loads(self._compiled.helpers), self)
        exec(marshal.loads(self._compiled.parts[part]), self)
        for name, value in lent.items():
            if name != "__name__" and self.get(name) is value:
                del self[name]
        return self[part]


def _replace(tree: ast.Module, every: Collection[str], own: Collection[str]) -> None:
    """Replace definitions of parts. In the module that a part belongs to, whatever binds its name counts as its
    definition, and one that is missing is added at the end; elsewhere only a class or function does."""
    done: set[str] = set()

    def replaced(body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            bound = bound_names(statement)
            parts = bound & set(every if isinstance(statement, DEFINITION) else own)
            if isinstance(statement, ast.If | ast.Try | ast.With) and parts:
                for field in ("body", "orelse", "finalbody"):
                    setattr(statement, field, replaced(getattr(statement, field, [])))
                statement.body = statement.body or [ast.Pass()]
                parts = set()
            if isinstance(statement, ast.Import | ast.ImportFrom):
                statement.names = [item for item in statement.names if (item.asname or item.name) not in parts]
                found += [statement] if statement.names else []
            elif not parts or parts != bound:
                found.append(statement)
            found += [_definition(part) for part in sorted(parts - done)]
            done.update(parts)
        return found

    tree.body = replaced(tree.body)
    tree.body += [_definition(part) for part in own if part not in done]
    ast.fix_missing_locations(tree)


def _definition(part: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(_DEFINE, ast.Load()), [ast.Constant(part)], []))

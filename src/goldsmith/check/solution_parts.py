"""The solution's own definitions of single parts, compiled, to stand in the place of a submission's.

A part is compiled with what only the solution has and the part needs (imports, private helpers, constants). Whatever
else it uses, other parts and provided code, it finds in the submission's module at run time. Only bytecode is handed
on: no text of a solution is ever next to a submission.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.syntax import parsing, syntax_tree
from goldsmith.source_code.compiled_parts import DEFINITION, CompiledParts, bound_names
from goldsmith.targets.target import Target

_FILE = "<solution>"


@dataclass(frozen=True)
class _Module:
    """The statements of one of the solution's files, by the names that they bind, and the names that its starter
    has."""

    path: str
    body: Sequence[ast.stmt]
    given: frozenset[str]

    def defines(self, part: str) -> bool:
        return any(part in bound_names(statement) for statement in self.body)

    def needed(self, parts: Collection[str], written: Collection[str]) -> dict[str, ast.stmt]:
        """Return what `parts` need and only the solution has, by name."""
        own = {name: statement for statement in self.body for name in bound_names(statement)}
        others = self.given | set(written)
        needed: dict[str, ast.stmt] = {}
        left = [name for part in parts for name in _used_names(own[part])]
        while left:
            name = left.pop()
            is_import = isinstance(own.get(name), ast.Import | ast.ImportFrom)
            if name in own and name not in needed and name not in parts and (is_import or name not in others):
                needed[name] = own[name]
                left += _used_names(own[name])
        return needed

    def compiled(self, parts: Collection[str], written: Collection[str]) -> CompiledParts:
        """Compile `parts`, and everything that they need and only the solution has."""
        needed = self.needed(parts, written)
        future = [item for item in self.body if isinstance(item, ast.ImportFrom) and item.module == "__future__"]
        helpers = [item for item in self.body if item not in future and needed.keys() & bound_names(item)]
        return CompiledParts(
            self.path,
            _code([*future, *helpers]),
            {part: _code([*future, *(item for item in self.body if part in bound_names(item))]) for part in parts},
        )


@dataclass(frozen=True)
class SolutionParts:
    """What the solution of an assignment defines; nothing where there is no solution, as in a pack."""

    modules: tuple[_Module, ...] = ()
    written: frozenset[str] = frozenset()

    @classmethod
    def of(cls, target: Target, written: Collection[str]) -> SolutionParts:
        """Read the solution; `written` is what students write, as in the manifest."""
        if target.solution is None or not target.solution.is_here:
            return cls()
        try:
            modules = tuple(_modules(target))
        except (GoldsmithError, OSError, SyntaxError, ValueError):
            return cls()  # gold was made from another state of the solution; it can be judged by gold alone
        return cls(modules, frozenset(name.split(".")[1] for name in written if "." in name))

    def known(self, parts: Collection[str]) -> set[str]:
        """Return those of `parts` that the solution defines."""
        return {part for part in parts if any(module.defines(part) for module in self.modules)}

    def helpers(self, parts: Collection[str]) -> set[tuple[str, str]]:
        """Return the functions and classes that `parts` need and only the solution has, with their modules."""
        found = set()
        for module in self.modules:
            needed = module.needed([part for part in parts if module.defines(part)], self.written)
            found |= {(module.path, name) for name, item in needed.items() if isinstance(item, DEFINITION)}
        return found

    def compiled(self, parts: Collection[str]) -> tuple[CompiledParts, ...]:
        """Compile `parts`, by module."""
        found = []
        left = set(parts)
        for module in self.modules:
            own = sorted(part for part in left if module.defines(part))
            left -= set(own)
            found += [module.compiled(own, self.written)] if own else []
        return tuple(found)


def _modules(target: Target) -> Iterator[_Module]:
    for item in target.placed:
        if item.target.suffix == ".py" and item.source not in (target.recipe, target.adapter):
            starter = target.starter.read(item.target) if target.starter else None
            given = _names(syntax_tree(starter).body) if starter is not None else set()
            yield _Module(item.target.as_posix(), syntax_tree(item.read()).body, frozenset(given))


def _names(body: Sequence[ast.stmt]) -> set[str]:
    return {name for statement in body for name in bound_names(statement)}


def _used_names(statement: ast.stmt) -> list[str]:
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def _code(body: Sequence[ast.stmt]) -> bytes:
    with parsing:
        return marshal.dumps(compile(ast.Module(list(body), []), _FILE, "exec", dont_inherit=True))

"""Which of the assignment's functions a case calls, read off the recipe.

It decides who gets the points. So what a submission's process says about it is believed as far as the recipe bears out.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.checking.leavings import Replayed
from goldsmith.checking.verdicts import CUT_OFF
from goldsmith.course import Assignment
from goldsmith.syntax import syntax_tree

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Calls:
    """What the recipe says: names by case, in their order; all that it imports; those that are functions for sure."""

    by_case: Mapping[str, tuple[str, ...]]
    imported: frozenset[str]
    functions: frozenset[str]

    @classmethod
    def of(cls, assignment: Assignment) -> Calls:
        modules = {path.stem: _content(path) for path in sorted(assignment.starter.rglob("*.py"), reverse=True)}
        return _read(_content(assignment.recipe), tuple(modules.items()))

    def believed(self, case: str, replayed: Replayed) -> Replayed:
        """What was replayed, with as much of what it says about itself as can be true, and what must be."""
        once = replayed.once
        said = set(once.uses)
        if case not in self.by_case:
            uses = tuple(name for name in once.uses if name in self.imported)
        else:
            silent = once.failure is not None and once.failure.kind in CUT_OFF
            must = self.functions if once.failure is None or silent else frozenset()
            uses = tuple(
                name for name in self.by_case[case] if name in self.imported and (name in said or name in must)
            )
        attempts = {**replayed.attempts, "once": msgspec.structs.replace(once, uses=uses)}
        return dataclasses.replace(replayed, attempts=attempts)


@functools.lru_cache(maxsize=8)
def _read(recipe: bytes, starter: tuple[tuple[str, bytes], ...]) -> Calls:
    """The same for a whole class."""
    tree, modules = _parsed(recipe), dict(starter)
    imported: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in modules:
            kinds = _kinds(modules[(node.module or "").rpartition(".")[2]])
            for item in node.names:
                named = kinds if item.name == "*" else {item.asname or item.name: kinds.get(item.name, False)}
                imported.update(named)
    own = {node.name: node for node in tree.body if isinstance(node, _Function)}
    by_case = {name: tuple(dict.fromkeys(_mentioned(node, own, {name}))) for name, node in own.items()}
    return Calls(by_case, frozenset(imported), frozenset(name for name, is_one in imported.items() if is_one))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parsed(content: bytes) -> ast.Module:
    try:
        return syntax_tree(content)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _kinds(content: bytes) -> dict[str, bool]:
    """What a file of the starter's defines, and whether that is a function."""
    body = _parsed(content).body
    return {
        node.name: not isinstance(node, ast.ClassDef) for node in body if isinstance(node, _Function | ast.ClassDef)
    }


def _mentioned(node: ast.AST, own: Mapping[str, ast.AST], seen: set[str]) -> Iterator[str]:
    """Names in their order, those in functions of the recipe in their place."""
    for child in ast.iter_child_nodes(node):
        name = child.id if isinstance(child, ast.Name) else child.attr if isinstance(child, ast.Attribute) else ""
        if isinstance(child, ast.Name) and name in own and name not in seen:
            seen.add(name)
            yield from _mentioned(own[name], own, seen)
        elif name:
            yield name
        yield from _mentioned(child, own, seen)

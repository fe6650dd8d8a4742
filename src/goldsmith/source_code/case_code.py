"""Hash the code in a recipe that each case depends on: while it stays the same, so do the case's draws.

A case depends on its function and, transitively, on whatever that names at the top level of the recipe: helpers,
constants, imports. Comments, docstrings, formatting and points do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from goldsmith.foundation.syntax import syntax_tree
from goldsmith.source_code.points import goldsmith_names, is_case_decorator, literal, without_points

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class CaseCode:
    """The hash of each case's own code by the case's name; `whole` is the hash of all code in the recipe."""

    whole: str
    cases: dict[str, str]

    def of(self, case: str) -> str:
        """Return the hash of a case's own code; for a case that is not found in the text, that of the whole recipe."""
        return self.cases.get(case, self.whole)


def case_code(source: bytes) -> CaseCode:
    """Hash the code that each case of a recipe depends on; hash the bytes of a recipe that cannot be parsed."""
    try:
        tree = syntax_tree(without_points(source))
    except (SyntaxError, ValueError):
        return CaseCode(hashlib.sha256(source).hexdigest(), {})
    _drop_docstrings(tree)
    whole = _hash(tree.body)
    tree.body = [part for node in tree.body for part in _imports_apart(node)]
    bindings = _bindings(tree)
    always = [node for node in tree.body if _acts(node) and not _is_main_guard(node)]
    cases = {name: _hash([*always, *_needed(node, bindings)]) for name, node in cases_by_name(tree)}
    return CaseCode(whole, cases)


def cases_by_name(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield functions that a decorator marks as a case, by the case's name. A name that is defined twice is left
    out."""
    modules, marks = goldsmith_names(tree)
    found: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for mark in getattr(node, "decorator_list", ()):
            call = mark if isinstance(mark, ast.Call) else None
            if not is_case_decorator(call.func if call else mark, modules, marks):
                continue
            given = next((item.value for item in call.keywords if item.arg == "name"), None) if call else None
            name = literal(given) if given is not None else getattr(node, "name", None)
            if isinstance(name, str):
                found.setdefault(name, []).append(node)
    yield from ((name, nodes[0]) for name, nodes in found.items() if len(nodes) == 1)


def _imports_apart(node: ast.stmt) -> list[ast.stmt]:
    """Split an import into one for each name, so that another name on its line only affects cases that use it."""
    if isinstance(node, ast.ImportFrom):
        parts: list[ast.stmt] = [ast.ImportFrom(node.module, [item], node.level) for item in node.names]
    elif isinstance(node, ast.Import):
        parts = [ast.Import([item]) for item in node.names]
    else:
        return [node]
    return [ast.copy_location(part, node) for part in parts]


def _acts(node: ast.stmt) -> bool:
    """Say whether a top-level statement does more than bind names, such as a call, a loop, or setting an item."""
    if isinstance(node, _Definition | ast.Import | ast.ImportFrom):
        return False
    return not (isinstance(node, ast.Assign | ast.AnnAssign) and _names_bound(node))


def _bindings(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Return the top-level statements by the names that they bind, in order."""
    found: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _names_bound(node):
            found.setdefault(name, []).append(node)
    return found


def _names_bound(node: ast.stmt) -> set[str]:
    if isinstance(node, _Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(item.asname or item.name).partition(".")[0] for item in node.names}
    stored = [item for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)]
    return {item.id for item in stored}


def _needed(case: ast.stmt, bindings: dict[str, list[ast.stmt]]) -> list[ast.stmt]:
    """Return the case itself and every statement that the names in it lead to, transitively."""
    found: list[ast.stmt] = [case]
    for node in found:  # grows as it is walked
        named = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        for name in sorted(named):
            found += [other for other in bindings.get(name, ()) if other not in found]
    return found


def _hash(nodes: list[ast.stmt]) -> str:
    """Hash the syntax trees of statements, in the order of the recipe."""
    ordered = sorted(dict.fromkeys(nodes), key=lambda node: (node.lineno, _text(node)))
    return hashlib.sha256("\n".join(_text(node) for node in ordered).encode()).hexdigest()


def _text(value: object) -> str:
    """Serialise a syntax tree, the same in every version of Python: `ast.dump` and `ast.unparse` are not.

    Empty fields are left out, since newer versions add some.
    """
    if isinstance(value, ast.AST):
        fields = ((name, getattr(value, name, None)) for name in value._fields)
        inside = ",".join(f"{name}={_text(item)}" for name, item in fields if item is not None and item != [])
        return f"{type(value).__name__}({inside})"
    if isinstance(value, list):
        return f"[{','.join(_text(item) for item in value)}]"
    return repr(value)


def _is_main_guard(node: ast.stmt) -> bool:
    """Recognise `if __name__ == "__main__":`, in which a recipe calls goldsmith."""
    return isinstance(node, ast.If) and any(
        isinstance(item, ast.Name) and item.id == "__name__" for item in ast.walk(node.test)
    )


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | _Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]

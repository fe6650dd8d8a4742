"""Parts of a solution as a worker gets them: compiled, without their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class CompiledParts(msgspec.Struct, frozen=True):
    """Parts of one module of the solution: `module` is its path in the assignment's folder, `helpers` defines what the
    parts need and only the solution has, `parts` each of them. Both are marshalled code."""

    module: str
    helpers: bytes
    parts: dict[str, bytes]


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a module binds there."""
    if isinstance(statement, DEFINITION):
        return {statement.name}
    if isinstance(statement, ast.Import):
        return {item.asname or item.name.partition(".")[0] for item in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {item.asname or item.name for item in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        nodes = (node for target in targets for node in ast.walk(target))
        return {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name for inner in inner_statements(statement) for name in bound_names(inner)}


def inner_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements inside a compound one, such as `if` or `try`, which run at the top of a module, too."""
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.stmt):
            yield node
        elif isinstance(node, ast.ExceptHandler):
            yield from node.body

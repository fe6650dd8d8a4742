"""The parts of a file: what it defines at its top level, what of that is provided, and what is left to students."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from goldsmith.foundation.syntax import decode_source, syntax_tree
from goldsmith.source_code.stubs import Function, comments_of, has_marks, is_stub

_Assignment = ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file: its lines, its statements, and its named top-level parts."""

    lines: list[str]
    body: Sequence[ast.stmt]
    parts: Mapping[str, ast.stmt]

    @functools.cached_property
    def _comments(self) -> Mapping[int, str]:
        return comments_of("\n".join(self.lines))

    def is_provided(self, node: ast.stmt) -> bool:
        if isinstance(node, Function) and is_stub(node):
            return False
        return not has_marks(node, list(self._comments_on(node)))

    def _comments_on(self, node: ast.stmt) -> Iterator[str]:
        """Yield the comments in a statement; of one line, also those right above it."""
        first, last = node.lineno, node.end_lineno or node.lineno
        if not isinstance(node, ast.ClassDef | Function):
            while first - 1 in self._comments and self.lines[first - 2].lstrip().startswith("#"):
                first -= 1
        yield from (self._comments[line] for line in range(first, last + 1) if line in self._comments)


def parse(content: bytes) -> ParsedFile | None:
    """Parse a file; return None if that fails, since running it gives a better error."""
    try:
        source = decode_source(content)
        tree = syntax_tree(source)
    except (SyntaxError, ValueError):
        return None
    parts: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function):
            parts[node.name] = node
        elif isinstance(node, _Assignment):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts.update({target.id: node for target in targets if isinstance(target, ast.Name)})
    return ParsedFile(source.split("\n"), tree.body, parts)


def parse_parts(content: bytes) -> Mapping[str, ast.stmt]:
    """Return what a file defines at its top level, by name; nothing if it does not parse."""
    try:
        module = parse(content)
    except (RecursionError, MemoryError):
        return {}
    return module.parts if module else {}


def written_by_students(source: bytes) -> set[str]:
    """Return the functions and methods of a starter that are not provided, by dotted name."""
    module = parse(source)
    found: set[str] = set()
    if module is None:
        return found
    for name, node in module.parts.items():
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, Function)]
            found |= {f"{name}.{item.name}" for item in methods if not module.is_provided(item)}
        elif isinstance(node, Function) and not module.is_provided(node):
            found.add(name)
    return found


def same_code(one: bytes, other: bytes) -> bool:
    """Say whether two files are the same code, up to comments, docstrings and formatting."""
    if one == other:
        return True
    try:
        return _code_of_file(one) == _code_of_file(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _code_of_file(content: bytes) -> str:
    tree = syntax_tree(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def is_students_code(name: str) -> bool:
    """Say whether a file, by its name, is Python and not a test."""
    file = PurePosixPath(name).name
    is_test = file.startswith("test_") or file.endswith("_test.py") or file in ("conftest.py", "unittests.py")
    return file.endswith(".py") and not is_test

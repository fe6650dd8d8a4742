"""Code in whatever students get, cut into pieces that can be compared however they were renamed or reformatted.

A piece is a function, or what stands outside of any. It is known by its grams: short runs of its syntax tree, in which
variables, attributes of `self`, comments, docstrings and annotations leave no trace, and library names are spelt out.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_GRAM = 5
_BUILTINS = frozenset(dir(builtins))
_USUAL = {"np": "numpy", "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "math": "math"}
_TEXT = (".md", ".rst", ".txt", ".html", ".tex")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Piece:
    """Lines `first` to `last` of `file`; `name` is dotted for what is nested, "" for what is in no function."""

    file: str
    name: str
    first: int
    last: int
    grams: frozenset[str]
    size: int


def pieces_in(file: str, content: bytes) -> list[Piece]:
    """All code in a file of any kind: modules, notebooks, fenced blocks, and what was commented out."""
    if b"\0" in content[:8000]:
        return []
    text = content.decode("utf-8", "replace")
    suffix = PurePosixPath(file).suffix
    found: list[Piece] = []
    for source, first in _sources(text, suffix):
        found += _pieces(file, source, first)
    return found


def _sources(text: str, suffix: str) -> Iterator[tuple[str, int]]:
    """Stretches of Python with the line they begin at."""
    if suffix == ".ipynb":
        yield from _cells(text)
        return
    if suffix not in _TEXT:
        yield text, 1
        yield from _commented_out(text)
        yield from _quoted(text)
    yield from _fenced(text)


def _cells(text: str) -> Iterator[tuple[str, int]]:
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError):
        return
    for cell in cells:
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else str(source)
        start = source.strip().splitlines()[:1]
        line = next((number for number, row in enumerate(text.splitlines(), 1) if start and start[0][:40] in row), 1)
        if cell.get("cell_type") == "code":
            yield re.sub(r"^\s*[%!].*$", "", source, flags=re.M), line
        else:
            yield from _fenced(source)


def _fenced(text: str) -> Iterator[tuple[str, int]]:
    for block in re.finditer(r"^([ \t>]*)(```+|~~~+)[^\n]*\n(.*?)^[ \t>]*\2", text, flags=re.M | re.S):
        body = re.sub(r"^>+ ?", "", block[3], flags=re.M)
        yield textwrap.dedent(body), text.count("\n", 0, block.start(3)) + 1


def _commented_out(text: str) -> Iterator[tuple[str, int]]:
    rows: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        match = re.match(r"\s*#(?!!) ?(.*)$", line)
        if match:
            rows.append(match[1])
            continue
        if len(rows) > 1:
            yield textwrap.dedent("\n".join(rows)), number - len(rows)
        rows = []


def _quoted(text: str) -> Iterator[tuple[str, int]]:
    for block in re.finditer(r"(\"\"\"|''')(.*?)\1", text, flags=re.S):
        if block[2].count("\n") > 1:
            yield textwrap.dedent(block[2].lstrip("\n")), text.count("\n", 0, block.start(2)) + 1


def _pieces(file: str, source: str, first: int) -> Iterator[Piece]:
    tree = _parsed(source)
    if tree is None:
        return
    names = dict(_USUAL)
    for node in ast.walk(tree):
        names |= _imported(node)
    yield from _of_body(file, tree.body, "", first, names)


def _parsed(source: str) -> ast.Module | None:
    """As a module, or as the body of a function, which is how people paste."""
    for text in (source, textwrap.dedent(source), "def _():\n" + textwrap.indent(textwrap.dedent(source), " ")):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _imported(node: ast.AST) -> dict[str, str]:
    if isinstance(node, ast.Import):
        aliased = {item.asname: item.name for item in node.names if item.asname}
        return aliased | {(top := item.name.partition(".")[0]): top for item in node.names if not item.asname}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
    return {}


def _of_body(file: str, body: list[ast.stmt], prefix: str, first: int, names: Mapping[str, str]) -> Iterator[Piece]:
    loose: list[ast.stmt] = []
    for node in body:
        if isinstance(node, _Function):
            name = f"{prefix}{node.name}"
            yield _piece(file, name, node.body, first, names)
            inner = [item for item in node.body if isinstance(item, _Function | ast.ClassDef)]
            yield from _of_body(file, list(inner), f"{name}.", first, names)
        elif isinstance(node, ast.ClassDef):
            yield from _of_body(file, node.body, f"{prefix}{node.name}.", first, names)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            loose.append(node)
    if loose and not prefix:
        yield _piece(file, "", loose, first, names)


def _piece(file: str, name: str, body: list[ast.stmt], first: int, names: Mapping[str, str]) -> Piece:
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    words = [word for node in body for word in _words(node, names)]
    grams = frozenset(" ".join(words[at : at + _GRAM]) for at in range(max(1, len(words) - _GRAM + 1)))
    lines = (body[0].lineno + first - 1, (body[-1].end_lineno or body[-1].lineno) + first - 1)
    return Piece(file, name, *lines, grams, len(words))


def _words(node: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    """The tree in reading order, a word a node; names only where a library or the language gave them."""
    dotted = _dotted(node, names)
    if dotted is not None:
        yield from dotted.split(".")
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    yield _word(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "ctx", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                yield from _words(child, names)


def _dotted(node: ast.AST, names: Mapping[str, str]) -> str | None:
    """`F.silu` as torch.nn.functional.silu."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in names:
        return ".".join([names[node.id], *reversed(parts)])
    return None


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id if node.id in _BUILTINS else "name"
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return "own" if own else f".{node.attr}"
    if isinstance(node, ast.Constant):
        return "text" if isinstance(node.value, str | bytes) else repr(node.value)
    if isinstance(node, ast.keyword):
        return f"{node.arg}="
    return type(node).__name__

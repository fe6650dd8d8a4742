"""Notebooks as text: jupytext's scripts and Markdown, marimo's scripts, scripts that nbconvert wrote.

They are recognised by how they begin. A script with `# %%` in it and no header is an ordinary module.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from goldsmith.foundation.syntax import decode_source, syntax_tree
from goldsmith.notebooks.cells import Cell, NotANotebook
from goldsmith.notebooks.graders import why_tests

Format = Literal["", "jupytext", "nbconvert", "marimo", "markdown"]
HEAD_BYTES = 4096
_MARKDOWN = (".md", ".Rmd", ".qmd")
TEXT_SUFFIXES = (".py", *_MARKDOWN)
_JUPYTEXT = re.compile(rb"(?:#!.*\r?\n|#.*coding.*\r?\n)*# ---\r?\n(?:#.*\r?\n)*?#\s+(?:jupyter|jupytext):")
_NBCONVERT = re.compile(rb"(?:#!.*\r?\n)?# coding: utf-8\s*\r?\n(?:.*\r?\n)*?# In\[[\d ]*\]:")
_MARIMO = re.compile(rb"^import marimo\b[\s\S]*^app = marimo\.App\(", re.M)
_FRONT_MATTER = re.compile(rb"---\r?\n(?:.*\r?\n)*?(?:jupyter|jupytext|kernelspec):")
_MARKER = re.compile(r"#\s?(?:%%|\+)(?:\s(.*))?$|# In\[[\d ]*\]:\s*$")
_NOT_CODE = re.compile(r"\s*(?:\S+\s+)?\[(?:markdown|md|raw)\]")
_NBGRADER = re.compile(r"nbgrader=(\{.*?\})(?:\s|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})\s*(?:\{?\s*(?:python|python3|ipython3|code-cell)\b[^`]*)$")
_OPTION = re.compile(r":\w[\w-]*:|---\s*$|\+\+\+")


def text_format(suffix: str, content: bytes) -> Format:
    """Say which kind of notebook a text file is; empty where it is none."""
    head = content[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    if suffix in _MARKDOWN:
        return "markdown" if _FRONT_MATTER.match(head) else ""
    if suffix != ".py":
        return ""
    if _JUPYTEXT.match(head):
        return "jupytext"
    if _NBCONVERT.match(head):
        return "nbconvert"
    return "marimo" if _MARIMO.search(head) else ""


def read_text(content: bytes, suffix: str) -> list[Cell]:
    """Return the code cells of a text file. Raise `NotANotebook` where it cannot be read."""
    kind = text_format(suffix, content)
    try:
        text = decode_source(content)
    except (SyntaxError, ValueError, LookupError) as error:
        raise NotANotebook(f"its text cannot be read: {error}") from None
    read = {"marimo": _marimo, "markdown": _markdown}.get(kind, _script)
    return [cell for cell in read(text) if cell.source.strip()]


def _script(text: str) -> Iterator[Cell]:
    """Split a script at the lines that begin a cell; text cells are comments in it."""
    lines = text.split("\n")
    first, is_code, metadata = 0, True, _metadata("")
    for number, line in enumerate([*lines, "# %%"]):
        marker = _MARKER.match(line)
        if not marker:
            continue
        source = "\n".join(lines[first:number])
        if is_code:
            yield Cell(0, source, first + 1, why_tests(source.lstrip("\n"), metadata))
        options = marker[1] or ""
        first, is_code, metadata = number + 1, not _NOT_CODE.match(options), _metadata(options)


def _metadata(options: str) -> Mapping[str, Any]:
    found = _NBGRADER.search(options)
    try:
        return {"nbgrader": json.loads(found[1])} if found else {}
    except (ValueError, RecursionError):
        return {}


def _markdown(text: str) -> Iterator[Cell]:
    lines = text.split("\n")
    fence, first = "", 0
    for number, line in enumerate(lines):
        if not fence:
            opened = _FENCE.match(line)
            if opened:
                fence, first = opened[1], number + 1
        elif line.strip() == fence:
            source = lines[first:number]
            skipped = next((count for count, item in enumerate(source) if not _OPTION.match(item)), len(source))
            if skipped and source[0].startswith("---"):
                closing = [count for count, item in enumerate(source[1:], 1) if item.startswith("---")]
                skipped = closing[0] + 1 if closing else skipped
            code = "\n".join(source[skipped:])
            yield Cell(0, code, first + skipped + 1, why_tests(code, {}))
            fence = ""


def _marimo(text: str) -> Iterator[Cell]:
    """Yield the bodies of the functions that marimo makes of cells, without the `return` that it adds."""
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError) as error:
        raise NotANotebook(f"marimo could not read it either: {error}") from None
    lines = text.split("\n")
    for node in tree.body:
        if isinstance(node, ast.With) and any("setup" in ast.unparse(item.context_expr) for item in node.items):
            yield _body(lines, node.body)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        kinds = {ast.unparse(item).partition("(")[0] for item in node.decorator_list}
        if "app.cell" in kinds:
            body = [item for item in node.body if not isinstance(item, ast.Return)]
            if body:
                yield _body(lines, body)
        elif kinds & {"app.function", "app.class_definition"}:
            yield Cell(0, "\n".join(lines[node.lineno - 1 : node.end_lineno]), node.lineno)


def _body(lines: list[str], body: list[ast.stmt]) -> Cell:
    """Take a block's lines, indented less; lines inside strings stay as they are."""
    first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
    nodes = (node for item in body for node in ast.walk(item))
    strings = [node for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)]
    inside = {line for node in strings for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)}
    indent = " " * body[0].col_offset
    text = [
        line if number in inside else line.removeprefix(indent)
        for number, line in enumerate(lines[first - 1 : last], first)
    ]
    return Cell(0, "\n".join(text), first)

"""Points that a recipe gives its cases, read off its text. They bear on grades and on nothing that is recorded: so a
recipe with other points, or without any, is the same recipe."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from goldsmith.errors import BadPoints
from goldsmith.syntax import syntax_tree

MOST_POINTS = 1_000_000
_SETTING = "points"
_MARKS = ("case", "checkpoint")
_PACKAGE = "goldsmith"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Given(NamedTuple):
    """`points=…` in the decorator of a case; `case` is empty where its name is only known once it runs."""

    case: str
    call: ast.Call
    setting: ast.keyword


def are_points(value: object) -> bool:
    """Whether something can be counted as points."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_POINTS


def recipe_points(recipe: Path, shown: Path) -> dict[str, float]:
    """What the cases of a recipe are worth, as far as it says so; `shown` is what people call its file.

    Raises `BadPoints` where something is said that is no number, of a case whose name stands nowhere, or twice.
    """
    try:
        source = recipe.read_bytes()
    except OSError:
        return {}
    found: dict[str, set[float]] = {}
    for item in _given(source):
        value = literal(item.setting.value)
        if not are_points(value) or not item.case or found.get(item.case, {value}) != {value}:
            raise BadPoints(shown, item.setting.lineno, ast.unparse(item.setting), MOST_POINTS)
        found.setdefault(item.case, set()).add(float(value))  # type: ignore[arg-type]
    return {case: min(values) for case, values in found.items()}


def without_points(source: bytes) -> bytes:
    """A recipe as it would stand there if nobody had given points: byte for byte, where they are plain numbers."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    cuts = [
        tuple(starts[line - 1] + column for line, column in _cut(item))
        for item in _given(source)
        if are_points(literal(item.setting.value))
    ]
    for begin, end in sorted(cuts, reverse=True):
        source = source[:begin] + source[end:]
    return source


def _cut(given: _Given) -> Iterator[tuple[int, int]]:
    """From where to where a setting goes: with its comma, or with the brackets if nothing else is in them."""
    call = given.call
    others: list[ast.expr | ast.keyword] = [*call.args, *(item for item in call.keywords if item is not given.setting)]
    place = (given.setting.lineno, given.setting.col_offset)
    before = [item for item in others if (item.lineno, item.col_offset) < place]
    after = [item for item in others if (item.lineno, item.col_offset) > place]
    if after:
        yield place
        yield min((item.lineno, item.col_offset) for item in after)
    elif before:
        yield max(_end(item) for item in before)
        yield _end(given.setting)
    else:
        yield _end(call.func)
        yield _end(call)


def _end(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _given(source: bytes) -> list[_Given]:
    try:
        source.decode("utf-8")
        tree = syntax_tree(source)
    except (SyntaxError, ValueError):
        return []
    modules, marks = goldsmith_names(tree)
    found = []
    for node in [node for node in ast.walk(tree) if isinstance(node, _Function)]:
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and is_case_decorator(mark.func, modules, marks):
                named = {item.arg: item for item in mark.keywords}
                if _SETTING in named:
                    name = literal(named["name"].value) if "name" in named else node.name
                    found.append(_Given(name if isinstance(name, str) else "", mark, named[_SETTING]))
    return found


def goldsmith_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """What the package and its two decorators are called in a recipe."""
    modules, marks = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {item.asname or item.name for item in node.names if item.name == _PACKAGE}
        elif isinstance(node, ast.ImportFrom) and node.module == _PACKAGE and not node.level:
            marks |= {item.asname or item.name for item in node.names if item.name in _MARKS}
    return modules, marks


def is_case_decorator(function: ast.expr, modules: set[str], marks: set[str]) -> bool:
    """Whether a decorator is `case` or `checkpoint`, as `goldsmith_names` found them to be called."""
    if isinstance(function, ast.Attribute):
        return function.attr in _MARKS and isinstance(function.value, ast.Name) and function.value.id in modules
    return isinstance(function, ast.Name) and function.id in marks


def literal(value: ast.expr) -> object:
    """The value of a literal expression, None where it is none."""
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None

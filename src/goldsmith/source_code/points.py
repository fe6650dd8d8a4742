"""Read the points that a recipe gives its cases from its source. Points affect grades and nothing that is recorded, so
a recipe with other points, or without any, counts as the same recipe."""

from __future__ import annotations

import ast
import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from goldsmith.foundation.syntax import decode_source, syntax_tree

MOST_POINTS = 1_000_000
_SETTING = "points"
_ANY = ".+"
_MARKS = ("case", "checkpoint")
_PACKAGE = "goldsmith"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Registration(NamedTuple):
    """A function made a case, by a decorator or a call. `pattern` matches the names that it may get; it is empty where
    no part of them is a literal. `target` is the function, or the expression that makes it."""

    name: str
    pattern: str
    call: ast.Call | None
    target: ast.AST


class _Given(NamedTuple):
    """`points=…` of a case; `pattern` is empty where its name is only known at run time."""

    pattern: str
    call: ast.Call
    setting: ast.keyword


class Points(Mapping[str, float]):
    """Points of cases by name. A name that is made in a loop is matched by its literal parts."""

    def __init__(self, by_pattern: Mapping[str, float]) -> None:
        self._by_pattern = dict(by_pattern)

    def __getitem__(self, case: str) -> float:
        found = {points for pattern, points in self._by_pattern.items() if re.fullmatch(pattern, case)}
        exact = self._by_pattern.get(re.escape(case))
        if exact is None and len(found) != 1:
            raise KeyError(case)
        return found.pop() if exact is None else exact

    def __iter__(self) -> Iterator[str]:
        """Yield the names as written, with a star for what is only known at run time."""
        for pattern in self._by_pattern:
            yield re.sub(r"\\(.)", r"\1", pattern.replace(_ANY, "*"))

    def __len__(self) -> int:
        return len(self._by_pattern)


def are_points(value: object) -> bool:
    """Say whether a value can be counted as points."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_POINTS


def recipe_points(recipe: Path, shown: Path) -> Mapping[str, float]:
    """Return the points of a recipe's cases, as far as it gives any; `shown` is the file's name in messages.

    Raises `BadPoints` for points that are not a number, are given twice differently, or belong to a case without a
    literal name.
    """
    try:
        source = recipe.read_bytes()
    except OSError:
        return {}
    found: dict[str, set[float]] = {}
    for item in _given(source):
        value = literal(item.setting.value)
        if not are_points(value) or not item.pattern or found.get(item.pattern, {value}) != {value}:
            from goldsmith.errors.recipe import BadPoints

            raise BadPoints(shown, item.setting.lineno, ast.unparse(item.setting), MOST_POINTS)
        found.setdefault(item.pattern, set()).add(float(value))  # type: ignore[arg-type]
    return Points({pattern: min(values) for pattern, values in found.items()})


def without_points(source: bytes) -> bytes:
    """Return a recipe without its points: byte for byte as if none had been given, where they are plain numbers."""
    given = [item for item in _given(source) if are_points(literal(item.setting.value))]
    starts = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))] if given else []
    cuts = [tuple(starts[line - 1] + column for line, column in _cut(item)) for item in given]
    for begin, end in sorted(cuts, reverse=True):
        source = source[:begin] + source[end:]
    return source


def _cut(given: _Given) -> Iterator[tuple[int, int]]:
    """Yield start and end of a setting: with its comma, or with the brackets if nothing else is in them."""
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


def _may_give_points(source: bytes) -> bool:
    """Say whether it is worth the milliseconds that parsing takes.

    An identifier may be written in other letters, which Python folds to plain ones, or in another encoding.
    """
    if source.isascii() and b"coding" not in source:
        return _SETTING.encode() in source
    return _SETTING in unicodedata.normalize("NFKC", decode_source(source))


def _given(source: bytes) -> list[_Given]:
    try:
        source.decode("utf-8")
        if not _may_give_points(source):
            return []
        tree = syntax_tree(source)
    except (SyntaxError, ValueError):
        return []
    found = []
    for item in registrations(tree):
        setting = next((word for word in item.call.keywords if word.arg == _SETTING), None) if item.call else None
        if item.call is not None and setting is not None:
            found.append(_Given(item.pattern, item.call, setting))
    return found


def registrations(tree: ast.Module) -> Iterator[Registration]:
    """Yield every place in a recipe that makes a case: `@gs.case`, `gs.case(function)` and `gs.case(name=…)(function)`,
    at any depth."""
    modules, marks = goldsmith_names(tree)

    def settings(mark: ast.AST) -> ast.Call | None:
        is_one = isinstance(mark, ast.Call) and is_case_decorator(mark.func, modules, marks)
        return mark if is_one else None  # type: ignore[return-value]

    for node in ast.walk(tree):
        for mark in getattr(node, "decorator_list", ()):
            if settings(mark) is not None or is_case_decorator(mark, modules, marks):
                yield _registration(settings(mark), node)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            call = settings(node.func)
            if call is not None or settings(node) is not None:
                yield _registration(call or node, node.args[0])


def _registration(call: ast.Call | None, target: ast.AST) -> Registration:
    given = next((item.value for item in call.keywords if item.arg == "name"), None) if call else None
    own = getattr(target, "name", None) or (target.id if isinstance(target, ast.Name) else None)
    if isinstance(given, ast.JoinedStr):
        texts = [str(item.value) for item in given.values if isinstance(item, ast.Constant)]
        parts = [re.escape(str(item.value)) if isinstance(item, ast.Constant) else _ANY for item in given.values]
        return Registration("", "".join(parts) if any(texts) else "", call, target)
    name = own if given is None else literal(given)
    name = name if isinstance(name, str) else ""
    return Registration(name, re.escape(name), call, target)


def goldsmith_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names under which a recipe imports the package, and those of its two decorators."""
    modules, marks = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {item.asname or item.name for item in node.names if item.name == _PACKAGE}
        elif isinstance(node, ast.ImportFrom) and node.module == _PACKAGE and not node.level:
            marks |= {item.asname or item.name for item in node.names if item.name in _MARKS}
    return modules, marks


def is_case_decorator(function: ast.expr, modules: set[str], marks: set[str]) -> bool:
    """Say whether a decorator is `case` or `checkpoint`, by the names that `goldsmith_names` found."""
    if isinstance(function, ast.Attribute):
        return function.attr in _MARKS and isinstance(function.value, ast.Name) and function.value.id in modules
    return isinstance(function, ast.Name) and function.id in marks


def literal(value: ast.expr) -> object:
    """Return the value of a literal expression, or None if it is not one."""
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None

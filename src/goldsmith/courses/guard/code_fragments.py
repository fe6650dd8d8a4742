"""Code in public files, cut into pieces that can be compared even if they were renamed or reformatted.

A piece is a function, or the code outside of any. It is compared by its grams: short runs of its syntax tree, without
variables, attributes of `self`, comments, docstrings and annotations, and with library names in full.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from goldsmith.courses.guard.extract_code import trees_in

_GRAM_WORDS = 5  # words of the syntax tree
_SILENT = frozenset({"annotation", "returns", "ctx", "decorator_list", "type_comment"})
_BUILTINS = frozenset(dir(builtins))
_USUAL = {"np": "numpy", "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "math": "math"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Statement:
    """One statement, of a compound one the head, by the words of its syntax tree; and the line that it begins at."""

    words: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Piece:
    """Lines `first` to `last` of `file`; `name` is dotted for nested functions, "" for code outside of any function.

    Only code that would run has `statements`.
    """

    file: str
    name: str
    first: int
    last: int
    grams: frozenset[str]
    size: int
    statements: tuple[Statement, ...] = ()


def pieces_in(file: str, content: bytes) -> list[Piece]:
    """Return all code in a file of any kind."""
    found: dict[tuple[str, frozenset[str]], Piece] = {}
    for tree, first, runs in trees_in(file, content):
        names = dict(_USUAL)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= _imported(node)
        for piece in _of_body(file, tree.body, "", first, names):
            found.setdefault((piece.name, piece.grams), piece if runs else replace(piece, statements=()))
    return list(found.values())


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
            yield from _lambdas(file, node, first, names)
    if loose and not prefix:
        yield _piece(file, "", loose, first, names)


def _lambdas(file: str, node: ast.stmt, first: int, names: Mapping[str, str]) -> Iterator[Piece]:
    """Yield `norm = lambda x: …` as a function, too."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name):
        body = ast.copy_location(ast.Return(node.value.body), node)
        yield _piece(file, node.targets[0].id, [body], first, names)


def _piece(file: str, name: str, body: list[ast.stmt], first: int, names: Mapping[str, str]) -> Piece:
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    words: list[str] = []
    for node in body:
        if not _is_boilerplate(node, names):
            _read(node, names, words)
    last = len(words) - _GRAM_WORDS + 1
    grams = frozenset(" ".join(words[at : at + _GRAM_WORDS]) for at in range(max(1, last) if words else 0))
    lines = (body[0].lineno + first - 1, (body[-1].end_lineno or body[-1].lineno) + first - 1)
    return Piece(file, name, *lines, grams, len(words), tuple(_statements(body, first, names)))


def _is_boilerplate(node: ast.stmt, names: Mapping[str, str]) -> bool:
    """Say whether a statement is what everybody writes alike: it reads the command line, seeds, keeps an argument or a
    plain value, or has such statements alone in it."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in _PARSER_CALLS:
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
            return True
        case (
            ast.Expr(value=ast.Call() as call)
            | ast.Assign(value=ast.Call() as call)
            | ast.Return(value=ast.Call() as call)
        ):
            return _is_usual_call(call, names)
        case ast.Assign(targets=[ast.Attribute(value=target)], value=value):
            setting = (_dotted(target, names) or "").startswith(_SETTINGS)
            return setting or (isinstance(target, ast.Name) and target.id == "self" and _is_plain(value))
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False


def _is_usual_call(call: ast.Call, names: Mapping[str, str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _PARSER_CALLS:
        return True
    if (_dotted(call.func, names) or "").startswith(_USUAL_CALLS):
        return True
    inner = [item.value if isinstance(item, ast.keyword) else item for item in (*call.args, *call.keywords)]
    return len(inner) == 1 and isinstance(inner[0], ast.Call) and _is_usual_call(inner[0], names)


def _is_plain(value: ast.expr) -> bool:
    """Say whether a value is a constant, or an argument or a field of one, as it is."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name | ast.Constant)


_PARSER_CALLS = frozenset({"add_argument", "parse_args", "parse_known_args", "add_subparsers", "add_parser"})
_USUAL_CALLS = (
    "argparse.",
    "logging.",
    "warnings.",
    "matplotlib.",
    "os.makedirs",
    "random.seed",
    "numpy.random.seed",
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "torch.device",
    "torch.use_deterministic_algorithms",
)
_SETTINGS = ("torch.backends", "matplotlib.", "os.environ")


def _statements(body: list[ast.stmt], first: int, names: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the statements of a body and of what is nested in it, but for functions and classes, pieces themselves."""
    for node in body:
        if isinstance(node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        words: list[str] = []
        _read(node, names, words, whole=False)
        if words:
            yield Statement(tuple(words), node.lineno + first - 1)
        for _, inner in ast.iter_fields(node):
            for child in inner if isinstance(inner, list) else ():
                if isinstance(child, ast.stmt):
                    yield from _statements([child], first, names)
                elif isinstance(child, ast.ExceptHandler | ast.match_case):
                    yield from _statements(child.body, first, names)


def _read(node: ast.AST, names: Mapping[str, str], words: list[str], *, whole: bool = True) -> None:
    """Append the tree in reading order, a word for each node; names only if a library or the language defines them.

    Unless `whole`, leave out the statements that are nested in it.
    """
    dotted = _dotted(node, names)
    if dotted is not None:
        words += dotted.split(".")
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    words.append(_word(node))
    for name, value in ast.iter_fields(node):
        if name in _SILENT:
            continue
        for child in value if isinstance(value, list) else (value,):
            if not isinstance(child, ast.AST) or isinstance(child, ast.expr_context):
                continue
            if whole or not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                _read(child, names, words, whole=whole)


def _dotted(node: ast.AST, names: Mapping[str, str]) -> str | None:
    """Return the full name of something in a library: torch.nn.functional.silu for `F.silu`."""
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

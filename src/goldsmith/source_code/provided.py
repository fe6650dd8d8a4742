"""What a starter gives complete: functions, constants, headers and attributes of classes, defaults, imports.

A submission may add to it as it likes, and format, annotate and move it. What it changes is found here;
`provided_edits.py` puts it back.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from goldsmith.source_code.parts import ParsedFile, parse
from goldsmith.source_code.stubs import Function, code_of, parameters

Kind = Literal["function", "value", "default", "header", "import"]


@dataclass(frozen=True)
class Piece:
    """Something that a file gives: the `node` with its code as normalised text, in the class `owner` if there is one.
    Of a header, each thing in it is one text; `of` is the function whose default it is."""

    kind: Kind
    node: ast.stmt
    code: frozenset[str]
    owner: str = ""
    value: ast.expr | None = None
    of: ast.arg | None = None


def changed_provided(starter: bytes, other: bytes, beside: Iterable[bytes] = ()) -> list[str]:
    """List what `starter` provides and what is missing or different code in `other`.

    What has moved unchanged to one of the files in `beside` does not count. Nor does what is only left out, other than
    a function.
    """
    return [name for name, is_there in _changes(starter, other, beside) if is_there]


def missing_values(starter: bytes, other: bytes, beside: Iterable[bytes] = ()) -> list[str]:
    """List constants and attributes that `starter` provides and `other` does not have."""
    return [name for name, is_there in _changes(starter, other, beside) if not is_there]


def added_at_import(starter: bytes, other: bytes, beside: Iterable[bytes] = ()) -> list[str]:
    """List what runs when `other` is imported, binds no name, and is not in `starter`: such a statement changes
    something for everybody, like `torch.set_grad_enabled(False)`."""
    mine, theirs = parse(starter), parse(other)
    if mine is None or theirs is None:
        return []
    given = import_time_statements(mine)
    return [name for name in import_time_statements(theirs) if name not in given]


def import_time_statements(module: ParsedFile) -> dict[str, list[ast.stmt]]:
    """Return the statements of a file that have an effect on what it imports, by what they are called in a verdict:
    calls of something in a module, and assignments to it."""
    found: dict[str, list[ast.stmt]] = {}
    imported = {name for name, _ in _origins(module.body)}
    for node in module.body:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute() as target)):
                targets: list[ast.expr] = [target]
            case ast.Assign(targets=targets):
                pass
            case _:
                continue
        if all(isinstance(item, ast.Attribute | ast.Subscript) and _root(item) in imported for item in targets):
            found.setdefault(f"what runs at import ({ast.unparse(node)})", []).append(node)
    return found


def _root(node: ast.expr) -> str:
    """Return the name that attributes and items are looked up in; "" if it is something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _changes(starter: bytes, other: bytes, beside: Iterable[bytes]) -> Iterator[tuple[str, bool]]:
    provided, theirs = _provided(starter), parse(other)
    if not provided or theirs is None:
        return
    found = pieces_of(theirs)
    if not provided.keys() <= found.keys() or any(piece.kind == "import" for piece in found.values()):
        files = [pieces_of(file) for file in map(parse, beside) if file is not None]
        moved = {name: piece for file in files for name, piece in file.items() if piece.kind in ("function", "value")}
        found = moved | {name: piece for name, piece in found.items() if not _is_moved(name, piece, moved)}
    classes = {name for name, node in theirs.parts.items() if isinstance(node, ast.ClassDef)}
    for name, piece in provided.items():
        standing = found.get(name)
        if standing is None and piece.kind in ("function", "value"):
            if piece.kind == "function" or piece.owner == "" or piece.owner in classes:
                yield name, piece.kind == "function"
        elif standing is not None and not _is_kept(piece, standing):
            yield name, True


def _is_moved(name: str, piece: Piece, moved: Mapping[str, Piece]) -> bool:
    return piece.kind == "import" and name in moved


def _is_kept(given: Piece, standing: Piece) -> bool:
    if given.kind == "header":
        return given.code <= standing.code
    if given.kind == standing.kind == "import":
        one, other = (f".{next(iter(piece.code)).lstrip('.')}" for piece in (given, standing))
        return one.endswith(other) or other.endswith(one)  # however its package is called from here
    return given.code == standing.code


@functools.lru_cache(maxsize=32)
def _provided(starter: bytes) -> Mapping[str, Piece]:
    """Return what a starter's file provides. Cached: it is the same for a whole class."""
    module = parse(starter)
    if module is None:
        return {}
    return {name: piece for name, piece in pieces_of(module).items() if _is_given(module, piece)}


def _is_given(module: ParsedFile, piece: Piece) -> bool:
    """Say whether a piece of a starter is there to stay: nothing in it is left to students."""
    if piece.kind == "header":
        return bool(piece.code)
    if piece.kind == "default":
        return bool(piece.code) and not module.is_provided(piece.node)  # of a provided function it is part of the code
    is_class = piece.kind == "import" and isinstance(piece.node, ast.ClassDef)
    is_open = piece.kind == "value" and piece.code <= {"None", "..."}
    return not is_class and not is_open and module.is_provided(piece.node)


# --- what there is in a file -----------------------------------------------------------------------------------------


def pieces_of(module: ParsedFile) -> dict[str, Piece]:
    """Return what a file gives, by name; of a name that is bound several times, the last counts."""
    origins = dict(_origins(module.body))
    found: dict[str, Piece] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = Piece("import", node, frozenset(["a class"]))
            found[f"class {node.name}"] = Piece("header", node, frozenset(_header(node, origins)))
            for item in node.body:
                found |= dict(_pieces(item, node.name, origins))
        else:
            found |= dict(_pieces(node, "", origins))
    return found


def _pieces(node: ast.stmt, owner: str, origins: Mapping[str, str]) -> Iterator[tuple[str, Piece]]:
    before = f"{owner}." if owner else ""
    if isinstance(node, Function):
        decorators = [_expanded(item, origins) for item in node.decorator_list]
        yield (
            f"{before}{node.name}",
            Piece("function", node, frozenset(["\n".join([*decorators, code_of(node)])]), owner),
        )
        for argument, default in parameters(node):
            written = frozenset([ast.unparse(default)] if default else [])
            yield f"{before}{node.name}({argument.arg})", Piece("default", node, written, owner, default, argument)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for name, origin in _origins([node]):
            yield f"{before}{name}", Piece("import", node, frozenset([origin]), owner)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for name, value in _assigned(node):
            if not (name.startswith("__") and name.endswith("__")):
                code = frozenset([ast.unparse(value) if value is not None else "…"])
                yield f"{before}{name}", Piece("value", node, code, owner, value)


def _assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a statement assigns, with their values; None where they are not written there."""
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield node.target.id, None
        return
    if isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        return
    for target in node.targets:
        match target, node.value:
            case ast.Name(id=name), value:
                yield name, value
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                for item, value in zip(names, values, strict=True):
                    if isinstance(item, ast.Name):
                        yield item.id, value
            case ast.Tuple(elts=names), value:
                for place, item in enumerate(names):
                    if isinstance(item, ast.Name):
                        yield item.id, ast.Subscript(value, ast.Constant(place))


def _header(node: ast.ClassDef, origins: Mapping[str, str]) -> Iterator[str]:
    """Yield what makes a class, besides its body: decorators, base classes, keywords."""
    for item in node.decorator_list:
        yield f"@{_expanded(item, origins)}"
    for item in node.bases:
        base = _expanded(item, origins)
        if base != "object":
            yield base
    for keyword in node.keywords:
        yield f"{keyword.arg}={_expanded(keyword.value, origins)}"


def _origins(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield what imports bind, with the dotted name of what that is: `from torch import nn` is `torch.nn`."""
    for node in body:
        if isinstance(node, ast.Import):
            for item in node.names:
                yield (
                    item.asname or item.name.partition(".")[0],
                    item.name if item.asname else item.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                if item.name != "*":
                    yield item.asname or item.name, f"{'.' * node.level}{node.module or ''}.{item.name}"


def _expanded(node: ast.expr, origins: Mapping[str, str]) -> str:
    """Return an expression as text, with the first name in it as it was imported."""
    text = ast.unparse(node)
    first = text.replace("(", ".").partition(".")[0]
    return f"{origins[first]}{text.removeprefix(first)}" if first in origins else text

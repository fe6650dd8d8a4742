"""Change what a file gives, and nothing else in it: put the starter's own back, or make something unusable."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from goldsmith.foundation.syntax import decode_source, encode_source
from goldsmith.source_code.parts import ParsedFile, parse
from goldsmith.source_code.provided import Piece, import_time_statements, pieces_of
from goldsmith.source_code.stubs import Function

_OPERATORS = (
    "add radd sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs "
    "invert and rand or ror xor rxor lshift rshift lt le gt ge eq ne bool int float complex index len iter next "
    "contains getitem setitem call enter exit format bytes fspath array getattr"
)
UNUSABLE = (
    f"(lambda fail: type('Unusable', (), {{'__hash__': object.__hash__, **{{f'__{{name}}__': fail for name in "
    f"'{_OPERATORS}'.split()}}}})())(lambda *_, **__: 1 / 0)"
)
"""An object that can be kept, handed on and shown, as a dataclass does with defaults; any other use raises an error."""


@dataclass(frozen=True)
class _Edit:
    """Replace what lies between two places, each a line (from 0) and a number of bytes in it."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def with_provided(starter: bytes, other: bytes, parts: Sequence[str]) -> bytes:
    """Return `other` with `parts` as the starter has them; what is missing is added to its class or file, and what only
    `other` has is taken out."""
    mine, theirs = parse(starter), parse(other)
    if mine is None or theirs is None:
        return other
    given, standing = pieces_of(mine), pieces_of(theirs)
    added = import_time_statements(theirs)
    edits = [
        edit
        for name in parts
        for edit in (
            _restore(name, mine, given[name], theirs, standing.get(name))
            if name in given
            else (_Edit(_begin(node), _finish(node), "pass") for node in added[name])
        )
    ]
    return _edited(other, edits)


def without_parts(other: bytes, parts: Sequence[str]) -> bytes:
    """Return `other` with `parts` of it unusable: to run or use one raises an error."""
    module = parse(other)
    if module is None:
        return other
    standing = pieces_of(module)
    return _edited(other, [edit for name in parts if name in standing for edit in _disable(name, standing[name])])


def is_in(source: bytes, part: str) -> bool:
    """Say whether a file has a part, as it is or changed."""
    module = parse(source)
    return module is not None and part in pieces_of(module)


def can_be_disabled(other: bytes, part: str) -> bool:
    """Say whether `without_parts` can do anything about a part."""
    module = parse(other)
    piece = pieces_of(module).get(part) if module else None
    return piece is not None and any(True for _ in _disable(part, piece))


def _disable(name: str, piece: Piece) -> Iterator[_Edit]:
    if isinstance(piece.node, Function) and piece.kind == "function":
        yield _Edit(_begin(piece.node.body[0]), _finish(piece.node.body[-1]), "raise RuntimeError('not to be run')")
    elif piece.kind == "default" and piece.value is not None:
        yield _Edit(_begin(piece.value), _finish(piece.value), UNUSABLE)
    elif piece.kind in ("value", "import") and not isinstance(piece.node, ast.ClassDef):
        yield _after(piece.node, f"{_last(name)} = {UNUSABLE}")


def _restore(name: str, mine: ParsedFile, given: Piece, theirs: ParsedFile, standing: Piece | None) -> Iterator[_Edit]:
    owner = theirs.parts.get(given.owner) if given.owner else None
    if given.owner and not isinstance(owner, ast.ClassDef):
        return
    text = _source(name, mine, given)
    if standing is None:
        yield from _added(given, text, owner, theirs)
    elif given.kind == "function" and standing.kind == "function":
        yield _Edit((_first_line(standing.node), 0), (standing.node.end_lineno or 0, 0), f"{text}\n")
    elif given.kind == "default" and given.value is not None and standing.of is not None:
        value = ast.unparse(given.value)
        if standing.value is not None:
            yield _Edit(_begin(standing.value), _finish(standing.value), value)
        else:
            yield _Edit(_finish(standing.of), _finish(standing.of), f"={value}")
    elif given.kind == "header" and isinstance(standing.node, ast.ClassDef) and isinstance(given.node, ast.ClassDef):
        yield _header(given.node, standing.node)
    elif given.kind in ("value", "import", "function"):
        yield _after(standing.node, text)


def _added(given: Piece, text: str, owner: ast.stmt | None, theirs: ParsedFile) -> Iterator[_Edit]:
    """Add what is missing: a function at the end, anything else before what may need it."""
    if given.kind == "function":
        end = len(theirs.lines) if owner is None else owner.end_lineno or len(theirs.lines)
        yield _Edit((end, 0), (end, 0), f"\n{text}\n")
        return
    body = owner.body if isinstance(owner, ast.ClassDef) else theirs.body
    first = next((node for node in body if not _comes_first(node)), None)
    if first is not None:
        place = _first_line(first), first.col_offset
        yield _Edit(place, place, f"{text}\n{' ' * first.col_offset}")


def _comes_first(node: ast.stmt) -> bool:
    """Say whether nothing can stand before a statement: a docstring or an import."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def _source(name: str, module: ParsedFile, piece: Piece) -> str:
    """Return the starter's own text of a function, indented as it is there, or a statement that binds one name."""
    node = piece.node
    if isinstance(node, ast.Import | ast.ImportFrom):
        bound = [item for item in node.names if (item.asname or item.name.partition(".")[0]) == name]
        one = ast.Import(bound) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, bound, node.level)
        return ast.unparse(one)
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node)
    if piece.kind == "value" and piece.value is not None:
        return f"{_last(name)} = {ast.unparse(piece.value)}"
    return "\n".join(module.lines[_first_line(node) : node.end_lineno])


def _header(given: ast.ClassDef, standing: ast.ClassDef) -> _Edit:
    """Give a class the starter's decorators, base classes and keywords."""
    inside = [ast.unparse(item) for item in given.bases]
    inside += [f"{item.arg}={ast.unparse(item.value)}" for item in given.keywords]
    first = standing.body[0]
    start, indent = _first_line(first), first.col_offset
    if _first_line(first) == standing.lineno - 1:  # the body is in the same line
        start, indent = _first_line(first), standing.col_offset + 4
    before = "".join(f"@{ast.unparse(item)}\n{' ' * standing.col_offset}" for item in given.decorator_list)
    bases = f"({', '.join(inside)})" if inside else ""
    text = f"{before}class {standing.name}{bases}:\n{' ' * indent}"
    return _Edit((_first_line(standing), standing.col_offset), (start, first.col_offset), text)


def _edited(source: bytes, edits: Sequence[_Edit]) -> bytes:
    """Make the edits, but for those that lie in another."""
    lines = [line.encode() for line in decode_source(source).removesuffix("\n").split("\n")]
    made: list[_Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        if made and edit.end > made[-1].start and edit.end > edit.start:
            continue
        made.append(edit)
        before = lines[edit.start[0]][: edit.start[1]] if edit.start[0] < len(lines) else b""
        after = lines[edit.end[0]][edit.end[1] :] if edit.end[0] < len(lines) else b""
        lines[edit.start[0] : edit.end[0] + 1] = [before + edit.text.encode() + after]
    return encode_source(b"\n".join(lines).decode() + "\n", like=source)


def _after(node: ast.stmt, text: str) -> _Edit:
    """Add a statement right after another: in the same line where possible, which may be a class's, too."""
    end = _finish(node)
    if isinstance(node, Function | ast.ClassDef) or "\n" in text:
        indent = "" if text[:1].isspace() else " " * node.col_offset
        return _Edit((end[0] + 1, 0), (end[0] + 1, 0), f"{indent}{text}\n")
    return _Edit(end, end, f"; {text}")


def _first_line(node: ast.stmt) -> int:
    """Return the index of the first line, decorators included."""
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(item.lineno for item in decorators)]) - 1


def _begin(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.lineno - 1, node.col_offset


def _finish(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0


def _last(name: str) -> str:
    return name.rpartition(".")[2]

"""Parts that the starter provides: find those that a submission's file has changed, and restore them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from goldsmith.course.starter_diff import ParsedFile, parse
from goldsmith.course.stubs import Function, code_of
from goldsmith.foundation.syntax import decode_source, encode_source


def changed_provided(starter: bytes, other: bytes, beside: Iterable[bytes] = ()) -> list[str]:
    """List the functions and methods that `starter` provides and that are missing or different code in `other`.

    What has moved unchanged to one of the files in `beside` does not count.
    """
    provided, theirs = _provided(starter), parse(other)
    if not provided or theirs is None:
        return []
    found = dict(_functions(theirs))
    if not provided.keys() <= found.keys():
        files = [file for file in map(parse, beside) if file is not None]
        found = {name: node for file in files for name, node in _functions(file)} | found
    return [name for name, code in provided.items() if name not in found or code_of(found[name]) != code]


@functools.lru_cache(maxsize=32)
def _provided(starter: bytes) -> Mapping[str, str]:
    """Return the code of what a starter's file provides. Cached: it is the same for a whole class."""
    mine = parse(starter)
    functions = _functions(mine) if mine else ()
    return {name: code_of(node) for name, node in functions if mine and mine.is_provided(node)}


def with_provided(starter: bytes, other: bytes, parts: Sequence[str]) -> bytes:
    """Return `other` with `parts` as the starter has them; a missing part is appended to its class or file."""
    mine, theirs = parse(starter), parse(other)
    if mine is None or theirs is None:
        return other
    lines = decode_source(other).removesuffix("\n").split("\n")
    given, standing = dict(_functions(mine)), dict(_functions(theirs))
    edits: list[tuple[int, int, list[str]]] = []
    for name in parts:
        text = mine.lines[_start(given[name]) : given[name].end_lineno]
        if name in standing:
            edits.append((_start(standing[name]), standing[name].end_lineno or 0, text))
            continue
        owner = theirs.parts.get(name.partition(".")[0]) if "." in name else None
        if "." in name and owner is None:
            continue
        end = len(lines) if owner is None else owner.end_lineno or len(lines)
        edits.append((end, end, ["", *text]))
    for start, end, text in sorted(edits, key=lambda edit: edit[0], reverse=True):
        lines[start:end] = text
    return encode_source("\n".join(lines) + "\n", like=other)


def _functions(module: ParsedFile) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, node in module.parts.items():
        if isinstance(node, Function):
            yield name, node
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, Function):
                    yield f"{name}.{item.name}", item


def _start(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the index of the first line, decorators included."""
    return min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1

"""Find parts that students were to write but did not: the code is still the starter's, or empty.

Read from the sources alone. A part that a file defines in any other way (an import, an assignment, a method set from
outside) counts as written.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from goldsmith.course.starter_diff import Function, code_of, parse, written_by_students
from goldsmith.foundation.syntax import decode_source, syntax_tree


def left_as_given(starter: bytes, solution: bytes) -> list[str]:
    """List the functions that look as if they were left to students, but that the solution leaves unchanged, too: they
    are not for students to write."""
    given, solved = _functions(starter) or {}, _functions(solution) or {}
    names = sorted(written_by_students(starter) & given.keys() & solved.keys())
    return [name for name in names if code_of(solved[name]) == code_of(given[name])]


def unwritten_parts(starter: bytes, other: bytes, left: Collection[str] = ()) -> list[str]:
    """List the classes and functions that `starter` leaves to students and whose functions, except those that are
    `left_as_given`, are all unchanged or empty in `other`."""
    given, theirs = _functions(starter), _functions(other)
    if theirs is None or given is None:
        return []
    parts: dict[str, list[bool]] = {}
    for name in sorted((written_by_students(starter) & given.keys()) - set(left)):
        node = theirs.get(name)
        same = node is not None and (code_of(node) == code_of(given[name]) or is_empty(node))
        parts.setdefault(name.partition(".")[0], []).append(same)
    found = [part for part, same in parts.items() if all(same)]
    return [part for part in found if not _is_set_elsewhere(part, other)]


def is_empty(node: Function) -> bool:
    """Say whether a function does nothing: `pass`, `...`, `return None`, `raise NotImplementedError`."""
    return not node.decorator_list and all(map(_does_nothing, node.body))


def _does_nothing(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None | ast.Constant(value=None)):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def _functions(source: bytes) -> Mapping[str, Function] | None:
    module = parse(source)
    if module is None:
        return None
    found: dict[str, Function] = {}
    for name, node in module.parts.items():
        if isinstance(node, Function):
            found[name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{name}.{item.name}": item for item in node.body if isinstance(item, Function)}
    return found


def _is_set_elsewhere(part: str, source: bytes) -> bool:
    """Say whether anything in a file may replace a part."""
    for node in ast.walk(syntax_tree(decode_source(source))):
        match node:
            case ast.ImportFrom(names=names) if any((item.asname or item.name) in (part, "*") for item in names):
                return True
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if name == part:
                return True
            case ast.Name(id="setattr" | "globals" | "exec" | "vars"):
                return True
            case ast.arg(annotation=ast.Name(id=name)) if name == part:
                return True
    return False

"""Find parts that students were to write but did not: the code is still the starter's, or empty.

Read from the sources alone. A part that a file defines in any other way (an import, an assignment, a method set from
outside) counts as written.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from goldsmith.foundation.syntax import decode_source, syntax_tree
from goldsmith.source_code.parts import parse, written_by_students
from goldsmith.source_code.stubs import Function, is_stub, is_unwritten


def left_as_given(starter: bytes, solution: bytes) -> list[str]:
    """List the functions that look as if they were left to students, but that the solution leaves as they are, or
    empty, too: they are not for students to write."""
    given, solved = functions_in(starter) or {}, functions_in(solution) or {}
    names = sorted(written_by_students(starter) & given.keys() & solved.keys())
    return [name for name in names if is_unwritten(solved[name], given[name])]


def left_in_all(versions: Iterable[bytes], solution: bytes) -> set[str]:
    """Return the functions that the solution leaves empty, or as they are for students to write in all versions of the
    starter: a version with something else in that place speaks against it."""
    left = {name for name, node in (functions_in(solution) or {}).items() if is_stub(node)}
    against = set[str]()
    for version in versions:
        alone = set(left_as_given(version, solution))
        left |= alone
        against |= written_by_students(version) - alone
    return left - against


def unwritten_functions(starter: bytes, other: bytes, left: Collection[str] = ()) -> dict[str, bool]:
    """Return the functions and methods that `starter` leaves to students, except those that are `left_as_given`, and
    whether each of them is still unwritten in `other`; nothing if one of the two does not parse."""
    given, theirs = functions_in(starter), functions_in(other)
    if theirs is None or given is None:
        return {}
    names = sorted((written_by_students(starter) & given.keys()) - set(left))
    found = {name: name in theirs and is_unwritten(theirs[name], given[name]) for name in names}
    parts = {name.partition(".")[0] for name, unwritten in found.items() if unwritten}
    elsewhere = {part for part in parts if _is_set_elsewhere(part, other)}
    return {name: unwritten and name.partition(".")[0] not in elsewhere for name, unwritten in found.items()}


def unwritten_parts(functions: Mapping[str, bool]) -> list[str]:
    """List the classes and functions of which nothing is written, where that is known of each function in them."""
    written = {name.partition(".")[0] for name, unwritten in functions.items() if not unwritten}
    parts = dict.fromkeys(name.partition(".")[0] for name in functions)
    return [part for part in parts if part not in written]


def functions_in(source: bytes) -> Mapping[str, Function] | None:
    """Return the functions and methods of a file, by dotted name; None if it does not parse."""
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
    """Say whether anything in a file may replace a part. A function that sets attributes of what it is given may do so
    where it decorates something with the part's name."""
    tree = syntax_tree(decode_source(source))
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names) if any((item.asname or item.name) in (part, "*") for item in names):
                return True
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if name == part:
                return True
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_]) if name == part:
                return True
            case ast.Name(id="globals" | "exec" | "vars"):
                return True
            case ast.arg(annotation=ast.Name(id=name)) if name == part:
                return True
            case ast.FunctionDef(decorator_list=[_, *_] as decorators) if any(_names(it, part) for it in decorators):
                return True
    outside = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    return any(_names(node, "setattr") for node in outside)


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(node))

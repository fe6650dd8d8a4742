"""What is left to students: functions that do nothing, and code with a mark such as TODO or "your code here".

The same for every reader: which parts students write, which of them nobody has written, what is provided.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence

from goldsmith.foundation.todo_marks import is_marked

Function = ast.FunctionDef | ast.AsyncFunctionDef

_NOT_THERE = re.compile(r"\bnot\s+(?:yet\s+)?(?:implemented|written|done|finished)\b", re.I)
_IN_CODE = ("NotImplementedError", "TODO", "YOUR CODE", "your code")
"""What counts in any text that is neither a comment nor a docstring."""
_RAISED = ("NotImplementedError", "NotImplemented")


def comments_of(source: str) -> dict[int, str]:
    """Return the comments of a file, by line."""
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string
    except (tokenize.TokenError, SyntaxError):
        pass  # what was read up to there counts
    return found


def has_marks(node: ast.stmt, comments: Collection[str]) -> bool:
    """Say whether a definition, with the comments in it, says that something in it is left to write."""
    return any(map(is_marked, comments)) or any(map(_is_sign, ast.walk(node)))


def _is_sign(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return is_marked(text)
        case ast.Constant(value=str(text)):
            return any(sign in text for sign in _IN_CODE)
        case ast.Name(id=name):
            return name in _IN_CODE or (name.isupper() and is_marked(name))
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return isinstance(value, ast.Constant) and value.value is Ellipsis
    return False


def is_stub(node: Function) -> bool:
    """Say whether a function does nothing: it passes, gives None or raises NotImplementedError, in any of the ways to
    write that."""
    return not any(True for _ in working_statements(node.body))


def working_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function's body without those that do nothing."""
    nothing = set[str]()
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _gives(node.value, nothing):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
            if all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets) and names:
                nothing |= names
                continue
        if not _does_nothing(node, nothing):
            yield node


def _does_nothing(node: ast.stmt, nothing: Collection[str]) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=value):
            return value is None or _gives(value, nothing)
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)) if name in _RAISED:
            return True
        case ast.Raise(exc=ast.Call(args=[ast.Constant(value=str(text))])):
            return is_marked(text) or bool(_NOT_THERE.search(text))
        case ast.Assert(test=ast.Constant(value=False)):
            return True
    return False


def _gives(value: ast.expr, nothing: Collection[str]) -> bool:
    """Say whether an expression is None or `...`, a name for that, or several of these."""
    match value:
        case ast.Constant(value=constant):
            return constant is None or constant is Ellipsis
        case ast.Name(id=name):
            return name in nothing or name == "NotImplemented"
        case ast.Tuple(elts=items) | ast.List(elts=items) if items:
            return all(_gives(item, nothing) for item in items)
    return False


def code_of(node: Function) -> str:
    """Return the code without docstring and annotations, as normalised text."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join([signature(node), *(ast.unparse(item) for item in body)])


def signature(node: Function) -> str:
    """Return the parameters without their annotations, which change nothing at run time."""
    bare = copy.copy(node.args)
    bare.posonlyargs, bare.args, bare.kwonlyargs = map(_bare, (bare.posonlyargs, bare.args, bare.kwonlyargs))
    bare.vararg, bare.kwarg = (item and ast.arg(item.arg) for item in (bare.vararg, bare.kwarg))
    return f"({ast.unparse(bare)})"


def _bare(arguments: Sequence[ast.arg]) -> list[ast.arg]:
    return [ast.arg(item.arg) for item in arguments]


def parameters(node: Function) -> list[tuple[ast.arg, ast.expr | None]]:
    """Return the parameters in order, each with its default."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*zip(plain, defaults, strict=True), *named]


def is_unwritten(node: Function, given: Function) -> bool:
    """Say whether a function that was `given` is still what it was, or does nothing. What a new decorator makes of it
    is not known."""
    if not {ast.unparse(item) for item in node.decorator_list} <= {ast.unparse(item) for item in given.decorator_list}:
        return False
    return is_stub(node) or _working_code(node) == _working_code(given)


def _working_code(node: Function) -> str:
    return "\n".join(ast.unparse(item) for item in working_statements(node.body))

"""Rewrites of statements: other names, helper functions, temporary variables, branches the other way round."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator

from goldsmith.source_code.rewriting.surroundings import Function, Surroundings

Choose = Callable[[ast.AST], bool]

_SEES_NAMES = frozenset(("locals", "vars", "eval", "exec", "dir", "globals"))
_BLOCKS = ("body", "orelse", "finalbody")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a function, not those of functions and classes inside it."""
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block
                pending += [item for item in block if not isinstance(item, _SCOPES)]
        pending += getattr(node, "handlers", [])


def _rename_locals(function: Function, around: Surroundings, choose: Choose) -> None:
    names = _own_names(function)
    if not names or not choose(function):
        return
    new = {name: around.fresh(f"its_{name}") for name in sorted(names)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in new:
            node.id = new[node.id]


def _own_names(function: Function) -> set[str]:
    """Return the local variables that can be renamed by renaming every mention of them."""
    nodes = [node for item in function.body for node in ast.walk(item)]
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    if mentioned & _SEES_NAMES or any(isinstance(node, ast.ClassDef | ast.Match) for node in nodes):
        return set()
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    fixed = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            fixed |= set(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            fixed.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            fixed |= {(item.asname or item.name).partition(".")[0] for item in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            fixed.add(node.name)
    return {name for name in stored - fixed if not name.startswith("__")}


def _result_named(function: Function, around: Surroundings, choose: Choose) -> None:
    for block in _blocks(function):
        for at, item in reversed(list(enumerate(block))):
            if isinstance(item, ast.Return) and not isinstance(item.value, ast.Name | ast.Constant | None):
                if not choose(item):
                    continue
                name = around.fresh("found")
                block[at : at + 1] = [
                    ast.Assign([ast.Name(name, ast.Store())], item.value),
                    ast.Return(ast.Name(name, ast.Load())),
                ]


def _expression_in_helper(function: Function, around: Surroundings, choose: Choose) -> None:
    """Compute what is assigned or returned in a function of its own."""
    for block in _blocks(function):
        for at, item in reversed(list(enumerate(block))):
            value = getattr(item, "value", None)
            if not isinstance(item, ast.Assign | ast.Return) or not isinstance(value, ast.BinOp | ast.Call):
                continue
            if _binds_or_yields(value) or not choose(item):
                continue
            name = around.fresh("compute")
            nothing = ast.arguments([], [], None, [], [], None, [])
            helper = ast.FunctionDef(name, nothing, [ast.Return(value)], [], None, None)
            changed = copy.copy(item)
            changed.value = ast.Call(ast.Name(name, ast.Load()), [], [])
            block[at : at + 1] = [helper, changed]


def _binds_or_yields(node: ast.AST) -> bool:
    kinds = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
    for item in ast.walk(node):
        if isinstance(item, kinds):
            return True
        if isinstance(item, ast.Name) and item.id in (*_SEES_NAMES, "super", "__class__"):
            return True
    return False


def _body_in_helper(function: Function, around: Surroundings, choose: Choose) -> None:
    """Move all that a function does to one inside it, which is given the same arguments."""
    head = [item for item in function.body[:1] if _is_docstring(item)]
    body = function.body[len(head) :]
    mentioned = {node.id for item in body for node in ast.walk(item) if isinstance(node, ast.Name)}
    declares = any(isinstance(node, ast.Global | ast.Nonlocal) for item in body for node in ast.walk(item))
    if not body or declares or mentioned & {*_SEES_NAMES, "__class__"} or not choose(function):
        return
    name = around.fresh("work")
    its = function.args
    every = [*its.posonlyargs, *its.args, *([its.vararg] if its.vararg else []), *its.kwonlyargs]
    every += [its.kwarg] if its.kwarg else []
    arguments = ast.arguments([], [ast.arg(item.arg) for item in every], None, [], [], None, [])
    helper = ast.FunctionDef(name, arguments, body, [], None, None)
    call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(item.arg, ast.Load()) for item in every], [])
    is_generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(body))
    last: ast.stmt = ast.Return(ast.YieldFrom(call)) if is_generator else ast.Return(call)
    function.body = [*head, helper, last]


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what stands in statements, without what is in functions and classes among them."""
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        if not isinstance(node, _SCOPES):
            yield node
            pending += ast.iter_child_nodes(node)


def _is_docstring(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def _branches_turned(function: Function, around: Surroundings, choose: Choose) -> None:
    for block in _blocks(function):
        for item in block:
            if isinstance(item, ast.If) and item.orelse and choose(item):
                item.test = ast.UnaryOp(ast.Not(), item.test)
                item.body, item.orelse = item.orelse, item.body


def _else_after_return(function: Function, around: Surroundings, choose: Choose) -> None:
    """Put what follows an `if` that always leaves into its `else`."""
    for block in _blocks(function):
        for at, item in enumerate(block[:-1]):
            if isinstance(item, ast.If) and not item.orelse and isinstance(item.body[-1], ast.Return | ast.Raise):
                if choose(item):
                    item.orelse = block[at + 1 :]
                    del block[at + 1 :]
                break


def _sum_not_in_place(function: Function, around: Surroundings, choose: Choose) -> None:
    """Write `x = x + y` for `x += y`, where nobody else can see that it is another object: `x` began as a number, or is
    an argument that is returned and that nothing says is changed."""
    if re.search(r"in[- ]?place", ast.get_docstring(function) or "", re.IGNORECASE):
        return
    numbers = {name for name, value in _first_values(function) if isinstance(value, ast.Constant)}
    given = {item.arg for item in function.args.args}
    returned = {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
        for name in ([*node.value.elts] if isinstance(node.value, ast.Tuple) else [node.value])
        if isinstance(name, ast.Name)
    }
    for block in _blocks(function):
        for at, item in enumerate(block):
            if not (isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name)):
                continue
            if item.target.id in numbers | (given & returned) and choose(item):
                old = ast.Name(item.target.id, ast.Load())
                block[at] = ast.copy_location(ast.Assign([item.target], ast.BinOp(old, item.op, item.value)), item)


def _first_values(function: Function) -> Iterator[tuple[str, ast.expr]]:
    seen: set[str] = {item.arg for item in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id not in seen:
                    seen.add(target.id)
                    yield target.id, node.value


def _value_named(function: Function, around: Surroundings, choose: Choose) -> None:
    """Give a value a name of its own before it is assigned."""
    for block in _blocks(function):
        for at, item in reversed(list(enumerate(block))):
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.BinOp | ast.Call) and choose(item):
                name = around.fresh("value")
                before = ast.Assign([ast.Name(name, ast.Store())], item.value)
                changed = copy.copy(item)
                changed.value = ast.Name(name, ast.Load())
                block[at : at + 1] = [before, changed]


_PURE = frozenset(
    """
    abs amax amin arange argmax argmin cat clamp clip concatenate cos empty exp eye full full_like log max mean min
    ones ones_like permute reshape shape sigmoid sin size softmax split sqrt square squeeze stack std sum tanh to
    transpose tril triu unsqueeze var view where zeros zeros_like len float int
    """.split()  # noqa: SIM905
)


def _statements_swapped(function: Function, around: Surroundings, choose: Choose) -> None:
    """Swap two assignments in a row that have nothing to do with each other."""
    for block in _blocks(function):
        at = 0
        while at + 1 < len(block):
            one, two = block[at], block[at + 1]
            if _are_independent(one, two) and choose(one):
                block[at], block[at + 1] = two, one
                at += 1
            at += 1


def _are_independent(one: ast.stmt, two: ast.stmt) -> bool:
    names = []
    for item in (one, two):
        if not (isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name)):
            return False
        for node in ast.walk(item.value):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called not in _PURE:
                    return False
            elif isinstance(node, ast.NamedExpr | ast.Yield | ast.Await | ast.Lambda):
                return False
        names.append((item.targets[0].id, {n.id for n in ast.walk(item.value) if isinstance(n, ast.Name)}))
    (first, reads), (second, also) = names
    return first != second and first not in also and second not in reads


REWRITES: dict[str, tuple[str, Callable[[Function, Surroundings, Choose], None]]] = {
    "statements-swapped": ("independent assignments the other way round", _statements_swapped),
    "not-in-place": ("x = x + y for x += y", _sum_not_in_place),
    "branches-turned": ("branches the other way round", _branches_turned),
    "else-after-return": ("the rest in an else", _else_after_return),
    "value-named": ("a value named before it is assigned", _value_named),
    "result-named": ("a result named before it is returned", _result_named),
    "expression-in-helper": ("an expression computed in a helper function", _expression_in_helper),
    "locals-renamed": ("other names of local variables", _rename_locals),
    "body-in-helper": ("a whole body in a helper function", _body_in_helper),
}

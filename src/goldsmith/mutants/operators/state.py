"""Mistakes about what belongs together and what is kept: one group alone, a norm for each, state begun again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import called, identifier, is_question_of_none, mentions, same, words
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_GROUPS = ("param_groups", "groups", "params", "parameters", "grads", "gradients", "weights")
_KEYED = ("items", "keys", "values", "parameters", "named_parameters")


@operator("first-group-only", "only the first group, key or parameter is handled", "state", ast.For)
def first_group_only(site: Site) -> Iterator[Edit | None]:
    over = site.node.iter
    keyed = isinstance(over, ast.Call) and called(over) in _KEYED and not over.args
    grouped = isinstance(over, ast.Attribute | ast.Name | ast.Subscript) and identifier(_last(over)) in _GROUPS
    if keyed or grouped:
        yield site.write(over, "list({})[:1]", over)


def _last(node: ast.expr) -> ast.AST:
    """Return what says what is gone through: of `group["params"]`, the key."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return ast.Name(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else node


@operator(
    "norm-of-each", "a norm is taken of each parameter by itself, not of all together", "state", ast.Expr, ast.Name
)
def norm_of_each(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Expr):
        call = node.value
        if called(call) == "clip_grad_norm_" and isinstance(call, ast.Call) and call.args:
            rest = "".join(f", {site.text(item)}" for item in (*call.args[1:], *call.keywords))
            text = f"for each in {site.text(call.args[0])}: {site.text(call.func)}(each{rest})"
            yield Edit(*site.source.span(node), (text,))
        return
    loop = next((item for item in site.ancestors if isinstance(item, ast.For)), None)
    if loop is None or not isinstance(node.ctx, ast.Load) or node not in _inside(loop):
        return
    one, made = _gradient_in(site, loop), _made_before(site, loop, node.id)
    if one is None or made is None:
        return
    if _is_norm_of_all(site, loop, node.id, made):
        yield site.replace(node, _norm_of(one))
        return
    for item in ast.walk(made):  # `scale = most / (total + eps)`
        if isinstance(item, ast.Name):
            total = _made_before(site, loop, item.id)
            if total is not None and _is_norm_of_all(site, loop, item.id, total):
                text, at = site.text(made), site.source.span(item)[0] - site.source.span(made)[0]
                end = at + len(item.id)
                yield site.replace(node, f"{text[:at]}{_norm_of(one)}{text[end:]}")
                return


def _inside(loop: ast.For) -> set[ast.AST]:
    return {item for statement in loop.body for item in ast.walk(statement)}


def _gradient_in(site: Site, loop: ast.For) -> str | None:
    """Return how a loop over parameters calls the gradient of one."""
    names = {item.id for item in ast.walk(loop.target) if isinstance(item, ast.Name)}
    for item in _inside(loop):
        if isinstance(item, ast.Attribute) and item.attr == "grad" and identifier(item.value) in names:
            return site.text(item)
        if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Name) and item.slice.id in names:
            return site.text(item)
    named = sorted(name for name in names if name in ("g", "grad", "gradient", "dw"))
    return named[0] if named else None


def _made_before(site: Site, loop: ast.For, name: str) -> ast.expr | None:
    """Return what a name was last set to before a loop; None where the loop sets it."""
    found = [
        item.value
        for item in ast.walk(site.function)
        if isinstance(item, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in item.targets)
    ]
    return found[-1] if found and all(item.lineno < loop.lineno for item in found) else None


def _is_norm_of_all(site: Site, loop: ast.For, name: str, made: ast.expr) -> bool:
    """Say whether a name is the size of everything: by what it is called or computed with, over several."""
    several = any(isinstance(item, ast.GeneratorExp | ast.ListComp) for item in ast.walk(made)) or called(made) == "sum"
    rooted = mentions(made, "sqrt", "norm") or any(
        isinstance(item, ast.BinOp) and isinstance(item.op, ast.Pow) for item in ast.walk(made)
    )
    summed = any(
        isinstance(item, ast.AugAssign) and item.lineno < loop.lineno and _is_in(item.target, made)
        for item in ast.walk(site.function)
    )
    return rooted and (several or summed) and ("norm" in words(ast.Name(name)) or mentions(made, "grad", "g", "norm"))


def _is_in(node: ast.expr, other: ast.expr) -> bool:
    return any(isinstance(item, ast.Name) and item.id == identifier(node) for item in ast.walk(other))


def _norm_of(gradient: str) -> str:
    return f"({gradient} ** 2).sum() ** 0.5"


@operator("state-begun-again", "what was kept from the step before is made anew in each", "state", ast.If)
def state_begun_again(site: Site) -> Iterator[Edit | None]:
    kept = _asked_for(site.node.test)
    if kept is None:
        return
    for statement in site.node.body:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            for part in getattr(target, "elts", [target]):
                if same(_loaded(part), kept) or (isinstance(part, ast.Subscript) and same(part.value, kept)):
                    yield site.replace(site.node.test, "True")
                    return


def _asked_for(test: ast.expr) -> ast.expr | None:
    """Return what a condition asks for, if it asks whether that is still missing."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() | ast.Subscript() as kept):
            return kept
        case ast.Compare(left=ast.Constant(), ops=[ast.NotIn()], comparators=[kept]):
            return kept
        case ast.Compare(left=ast.Name(), ops=[ast.NotIn()], comparators=[ast.Attribute() as kept]):
            return kept
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[kept]), ops=[ast.Eq()]):
            return kept
        case ast.Compare(left=ast.Attribute() as kept, ops=[ast.Is()]) if is_question_of_none(test):
            return kept
    return None


def _loaded(node: ast.expr) -> ast.expr:
    """Return a target as it is read."""
    return ast.Attribute(node.value, node.attr, ast.Load()) if isinstance(node, ast.Attribute) else node

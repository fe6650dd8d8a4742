"""Mistakes that one call on usual input does not show: state kept between calls, a batch of one, changed arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    LOSSES,
    axis_of,
    called,
    holds,
    is_library,
    is_question_of_none,
    mentions,
    named,
    owner,
    uses_torch,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_IN_PLACE: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("add_", "add"),
    ast.Sub: ("sub_", "subtract"),
    ast.Mult: ("mul_", "multiply"),
    ast.Div: ("div_", "divide"),
}
_PLAIN_NUMBERS = (
    *("lr", "eps", "epsilon", "beta", "betas", "momentum", "decay", "rate", "factor", "scale", "temperature", "p"),
    *("n", "num", "count", "steps", "step", "size", "dim", "length", "len", "max", "min", "base", "lam", "alpha"),
)
_COMPUTED = ast.Call | ast.BinOp | ast.Subscript
_SIZED = ("ones", "zeros", "full", "eye", "arange", "tril", "triu")
_REDUCING = (*LOSSES, "item", "mean", "sum", "float", "int", "len", "array", "list", "tuple", "squeeze")


@operator("first-result-kept", "what the first call returned is returned by all later ones", "calls", ast.Return)
def first_result_kept(site: Site) -> Iterator[Edit | None]:
    store = _store(site)
    if store and isinstance(site.node.value, _COMPUTED | ast.Name | ast.UnaryOp):
        yield site.replace(site.node.value, f'{store}.setdefault("kept", {site.text(site.node.value)})')


@operator("table-kept", "a table is made for the first input's size and used for all later ones", "calls", ast.Assign)
def table_kept(site: Site) -> Iterator[Edit | None]:
    """A mask, positions, the rows that are cut from a longer table."""
    node, store = site.node, _store(site)
    value, target = node.value, node.targets[0]
    made = any(called(item) in _SIZED for item in ast.walk(value)) and mentions(value, "length", "shape", "size", "len")
    if store and made and isinstance(target, ast.Name):
        yield site.replace(value, f'{store}.setdefault("{target.id}", {site.text(value)})')


def _store(site: Site) -> str:
    """Return where a value can outlive the call: in the method's object, or in the function; "" where nowhere."""
    arguments = site.function.args.args
    if owner(site) is not None:
        return "self.__dict__" if arguments and arguments[0].arg == "self" else ""
    at_top = isinstance(site.source.parents[site.function], ast.Module)
    return f"{site.function.name}.__dict__" if at_top else ""


@operator("ones-squeezed", "axes of size one are lost: a batch of one is none any more", "calls", ast.Return)
def ones_squeezed(site: Site) -> Iterator[Edit | None]:
    value = site.node.value
    made = _last_value(site, value.id) if isinstance(value, ast.Name) else value
    reduced = isinstance(made, ast.Call) and called(made) in _REDUCING and axis_of(site, made) is None
    array = isinstance(made, _COMPUTED) and not reduced and not mentions(made, "item")
    if array and not _is_of_numbers(made) and not mentions(site.function, "append"):
        yield site.write(value, "{}.squeeze()", value)


def _is_of_numbers(node: ast.AST | None) -> bool:
    """Say whether it is like `total / count`: only names, which may well be numbers instead of arrays."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.MatMult):
        return False
    return not any(isinstance(item, ast.Call | ast.Attribute) for item in ast.walk(node))


def _last_value(site: Site, name: str) -> ast.expr | None:
    """Return what a name was set to last, in the order of the code."""
    found = [
        item.value
        for item in ast.walk(site.function)
        if isinstance(item, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in item.targets)
    ]
    return found[-1] if found else None


@operator("argument-overwritten", "an argument is changed in place", "calls", ast.BinOp)
def argument_overwritten(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if type(node.op) not in _IN_PLACE or not isinstance(node.left, ast.Name) or not _is_argument(site, node.left):
        return
    method, function = _IN_PLACE[type(node.op)]
    if uses_torch(site):
        yield site.write(node, f"{node.left.id}.{method}({{}})", node.right)
    elif "np" in site.imported:
        yield site.write(node, f"np.{function}({node.left.id}, {{}}, out={node.left.id})", node.right)


def _is_argument(site: Site, name: ast.Name) -> bool:
    """Say whether a name still refers to an array that the function was given, possibly under another name."""
    given = {item.arg for item in site.function.args.args} - {"self"}
    earlier = [
        item
        for item in ast.walk(site.function)
        if isinstance(item, ast.Assign | ast.AugAssign | ast.For) and item.lineno < site.statement.lineno
    ]
    set_to = [item for item in earlier if _sets(item, name.id)]
    aliased = [item.value.id for item in set_to if isinstance(item, ast.Assign) and isinstance(item.value, ast.Name)]
    if named(name, *_PLAIN_NUMBERS) or is_library(site, name) or len(aliased) < len(set_to):
        return False
    return (aliased[-1] if aliased else name.id) in given


def _sets(statement: ast.Assign | ast.AugAssign | ast.For, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(holds(target, name) for target in targets)


@operator("argument-ignored", "an optional argument is ignored: its default is used", "calls", ast.Name, ast.Compare)
def argument_ignored(site: Site) -> Iterator[Edit | None]:
    node, defaults = site.node, _defaults(site)
    if isinstance(node, ast.Compare):
        default = defaults.get(node.left.id) if isinstance(node.left, ast.Name) else None
        if is_question_of_none(node) and default is not None and default.value is None:
            yield site.replace(node, str(isinstance(node.ops[0], ast.Is)))
        return
    default = defaults.get(node.id) if isinstance(node.ctx, ast.Load) else None
    if default is not None and isinstance(default.value, bool | int | float | str) and not _is_rebound(site, node.id):
        yield site.replace(node, site.text(default))


def _defaults(site: Site) -> dict[str, ast.Constant]:
    """Return the optional arguments of a function whose defaults are plain."""
    arguments = site.function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(plain), reversed(arguments.defaults), strict=False)]
    pairs += [(item, given) for item, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given]
    return {item.arg: given for item, given in pairs if isinstance(given, ast.Constant)}


def _is_rebound(site: Site, name: str) -> bool:
    return any(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store)
        for item in ast.walk(site.function)
    )

"""General mistakes with statements, arguments and results: left out, swapped, or an older value used."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    LOSSES,
    called,
    holds,
    identifier,
    is_library,
    is_plain,
    is_question_of_none,
    keep,
    named,
    number,
    same,
    split_words,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_COMMUTING = frozenset(
    {"maximum", "minimum", "max", "min", "isinstance", "zip", "add", "mul", "multiply", "allclose", "equal"}
    | {"hypot", "logaddexp", "getattr", "setattr", "hasattr", "view", "reshape", "expand", "permute", "transpose"}
    | {"ones", "zeros", "eye", "full", "rand", "randn", "empty", "repeat", "matmul", "mm", "bmm", "slice"}
    | {"range", "arange", "print", "register_buffer", "swapaxes", "tile", "roll", "randint", "moveaxis"}
)


@operator(
    "added-not-kept", "a value is overwritten where it should be added to", "statements", ast.AugAssign, ast.BinOp
)
def added_not_kept(site: Site) -> Iterator[Edit | None]:
    node = site.node
    signs = {ast.Add: "+=", ast.Mult: "*="}
    if isinstance(node, ast.AugAssign):
        if type(node.op) in signs:
            yield site.between(node.target, node.value, signs[type(node.op)], "=")
    elif (
        isinstance(node.op, ast.Add)
        and isinstance(site.parent, ast.Assign)
        and number(node.right) is None
        and any(same(node.left, item) for item in map(_as_read, site.parent.targets))
    ):
        yield keep(site, node, node.right)


def _as_read(node: ast.expr) -> ast.expr:
    return ast.Name(node.id, ast.Load()) if isinstance(node, ast.Name) else node


@operator("arguments-swapped", "two arguments are exchanged", "statements", ast.Call)
def arguments_swapped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    name = called(node)
    if len(node.args) < 2 or name in _COMMUTING | LOSSES or name[:1].isupper() or name == "where":
        return
    one, two = node.args[:2]
    if _are_alike(site, node) or (is_plain(one) and is_plain(two) and is_library(site, node.func)):
        yield site.swap(one, two)


@operator("constants-exchanged", "two constants stand in each other's place", "statements", ast.Call, ast.Tuple)
def constants_exchanged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Tuple):
        values = (
            []
            if isinstance(site.parent, ast.Subscript | ast.Call) and called(site.parent) in ("", *_COMMUTING)
            else node.elts
        )
    else:
        values = [] if called(node) in _COMMUTING else [*node.args, *(item.value for item in node.keywords)]
    for one, two in itertools.pairwise(values):
        first, second = number(one), number(two)
        if first is not None and second is not None and first != second and float in (type(first), type(second)):
            yield site.swap(one, two)


def _are_alike(site: Site, call: ast.Call) -> bool:
    """Say whether two arguments share a word in their names, here or in the definition: swapped, neither crashes."""
    if any(isinstance(item, ast.Starred | ast.Constant) for item in call.args[:2]):
        return False
    defined = [
        item for item in site.source.tree.body if isinstance(item, ast.FunctionDef) and item.name == called(call)
    ]
    names = [item.arg for item in defined[0].args.args[:2]] if defined else [identifier(item) for item in call.args[:2]]
    return len(names) == 2 and not set(split_words(names[0])).isdisjoint(split_words(names[1]))


@operator("targets-swapped", "two results are given each other's name", "statements", ast.Assign)
def targets_swapped(site: Site) -> Iterator[Edit | None]:
    target = site.node.targets[0]
    if not isinstance(target, ast.Tuple) or isinstance(site.node.value, ast.Tuple) or len(target.elts) < 2:
        return
    one, two = target.elts[-2:]
    is_shape = named(site.node.value, "shape") and len(target.elts) > 2
    if not is_shape and isinstance(one, ast.Name) and isinstance(two, ast.Name):
        yield site.swap(one, two)


@operator("early-exit-missing", "what should end early goes on", "statements", ast.Return, ast.Break, ast.Continue)
def early_exit_missing(site: Site) -> Iterator[Edit | None]:
    guards = isinstance(site.parent, ast.If) and not any(isinstance(item, ast.While) for item in site.ancestors)
    if guards and not is_question_of_none(site.parent.test):
        yield site.drop(site.node)


@operator("earlier-value-returned", "a value is returned as it was before the last step", "statements", ast.Return)
def earlier_value_returned(site: Site) -> Iterator[Edit | None]:
    name = site.node.value.id if isinstance(site.node.value, ast.Name) else None
    before = [
        item for item in ast.walk(site.function) if isinstance(item, ast.Assign) and item.lineno < site.node.lineno
    ]
    made = [item.value for item in before if name and any(_is_name(target, name) for target in item.targets)]
    if name is None or not made:
        return
    read = {item.id for item in ast.walk(made[-1]) if isinstance(item, ast.Name)} - site.imported - {name, "self"}
    if len(read) == 1 and not holds(made[-1], name) and isinstance(made[-1], ast.Call | ast.BinOp):
        yield site.replace(site.node.value, read.pop())


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


@operator("statement-dropped", "a line is left out", "statements", ast.Expr, ast.Assign, ast.AugAssign)
def statement_dropped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Call) and called(node.value) not in ("__init__", "__post_init__"):
            yield site.drop(node)
    elif isinstance(node, ast.AugAssign) or _binds_again(site):
        yield site.drop(node)


def _binds_again(site: Site) -> bool:
    """Say whether the name would still have a value, an older one, without this statement."""
    target = site.node.targets[0]
    if isinstance(target, ast.Subscript):
        return not isinstance(target.slice, ast.Constant)
    given = {item.arg for item in ast.walk(site.function.args) if isinstance(item, ast.arg)}
    return isinstance(target, ast.Name) and (target.id in given or _is_set_before(site, target))


def _is_set_before(site: Site, name: ast.Name) -> bool:
    if holds(site.node.value, name.id):
        return True
    stored = [item for item in ast.walk(site.function) if _is_name(item, name.id) and item is not name]
    return any(isinstance(item.ctx, ast.Store) and item.lineno < name.lineno for item in stored)  # type: ignore[attr-defined]

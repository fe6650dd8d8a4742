"""General mistakes in formulas: signs, factors, powers, constants, functions that are left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    in_shape,
    is_complement,
    is_eps,
    is_method,
    is_plain,
    is_product,
    is_sum,
    keep,
    mentions,
    named,
    number,
    resigned,
    same,
    subject,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_ONE_TO_ONE = frozenset(
    {"abs", "exp", "expm1", "square", "floor", "ceil", "round", "reciprocal", "sign", "fabs", "inv", "pinv"}
)
_SHAPING = frozenset(
    {"view", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "flatten", "chunk", "split", "expand"}
    | {"repeat", "ones", "zeros", "full", "empty", "eye", "rand", "randn", "unflatten", "tile", "range", "arange"}
    | {"swapaxes", "roll", "moveaxis", "movedim", "expand_dims", "broadcast_to", "array_split", "size", "sum"}
    | {"mean", "float", "int", "pow", "triu", "tril", "requires_grad_", "manual_seed", "seed", "default_rng"}
    | {"tensor", "array"}
)


_COEFFICIENTS = (
    *("lr", "eta", "rate", "alpha", "beta", "gamma", "lam", "lambda", "sigma", "mu", "scale", "weight", "coef", "std"),
    *("dt", "momentum", "decay", "wd", "ridge", "reg"),
)


def _is_text(node: ast.AST) -> bool:
    """Say whether it is a string or a list, which can be added, too."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.List | ast.Tuple | ast.JoinedStr | ast.ListComp) or called(node) in (
        "list",
        "str",
        "join",
    )


def _is_formula(node: ast.BinOp) -> bool:
    return not (_is_text(node.left) or _is_text(node.right))


@operator("sign-flipped", "plus stands for minus, or the other way round", "arithmetic", ast.BinOp, ast.AugAssign)
def sign_flipped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    if in_shape(site) or _is_bound_of_slice(site):
        return
    old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
    if isinstance(node, ast.AugAssign):
        if not _is_text(node.value) and number(node.value) != 1:
            yield site.between(node.target, node.value, f"{old}=", f"{new}=")
    elif _is_formula(node) and not (_is_left_to_others(node) or _piles_up(site)):
        yield resigned(site, node, new)


def _is_left_to_others(node: ast.BinOp) -> bool:
    """Say whether another operator mutates it: a difference, a step of one, a complement, an epsilon."""
    is_difference = isinstance(node.op, ast.Sub) and number(node.left) is None and number(node.right) is None
    return is_difference or _is_step_of_one(node) or is_complement(node) or is_eps(node.right)


def _is_bound_of_slice(site: Site) -> bool:
    """Say whether it bounds a slice or range, where the usual mistake is to be off by one."""
    return isinstance(site.parent, ast.Slice) or called(site.parent) in ("slice", "range", "arange")


def _piles_up(site: Site) -> bool:
    """Say whether it accumulates in a loop: `total + loss` that becomes the new total."""
    targets = getattr(site.statement, "targets", [])
    names = {item.id for part in targets for item in ast.walk(part) if isinstance(item, ast.Name)}
    in_loop = any(isinstance(item, ast.For | ast.While) for item in site.ancestors)
    return in_loop and isinstance(site.node.left, ast.Name) and site.node.left.id in names and is_sum(site.node)


def _is_step_of_one(node: ast.BinOp) -> bool:
    """Say whether it is like `n - 1`, where the usual mistake is to forget the one."""
    return isinstance(number(node.right), int) and abs(number(node.right) or 0) == 1


@operator(
    "times-for-over", "a product stands for a quotient, or the other way round", "arithmetic", ast.BinOp, ast.AugAssign
)
def times_for_over(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not isinstance(node.op, ast.Mult | ast.Div):
        return
    old, new = ("*", "/") if isinstance(node.op, ast.Mult) else ("/", "*")
    if isinstance(node, ast.AugAssign):
        yield site.between(node.target, node.value, f"{old}=", f"{new}=")
    elif isinstance(node.op, ast.Mult) and not _is_scale(node.right):
        return
    elif _is_formula(node) and not (in_shape(site) or _is_combined(site) or _is_count(node.right)):
        yield resigned(site, node, new)


def _is_combined(site: Site) -> bool:
    """Say whether it is a term of `a * b + c * d`, where the usual mistake is a sign or a term."""
    outer = site.parent
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.Add | ast.Sub):
        return False
    return is_product(outer.left) and is_product(outer.right)


def _is_scale(node: ast.expr) -> bool:
    """Say whether people may divide by it where they should multiply."""
    scales = (
        "std",
        "scale",
        "sigma",
        "weight",
        "norm",
        "temperature",
        "freq",
        "freqs",
        "frequencies",
        "root",
        "sqrt",
        "rsqrt",
    )
    return number(node) not in (None, 2, 0.5) or mentions(node, *scales)


def _is_count(node: ast.expr) -> bool:
    return called(node) == "len" or named(node, "count", "batches", "steps", "num", "n")


@operator("operands-swapped", "a difference is taken the wrong way round", "arithmetic", ast.BinOp)
def operands_swapped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if (
        isinstance(node.op, ast.Sub)
        and number(node.left) is None
        and number(node.right) is None
        and not in_shape(site)
        and not _is_squared(site)
        and called(node.right) not in ("max", "amax")
    ):
        yield site.write(node, "{} - {}", node.right, node.left)


def _is_squared(site: Site) -> bool:
    """Say whether it is squared or made positive, so that its sign makes no difference."""
    outer = site.parent
    if isinstance(outer, ast.BinOp):
        power = isinstance(outer.op, ast.Pow) and outer.left is site.node and number(outer.right) == 2
        return power or (isinstance(outer.op, ast.Mult) and same(outer.left, outer.right))
    if isinstance(outer, ast.Attribute):
        return outer.attr in ("abs", "square", "pow", "norm")
    return called(outer) in ("abs", "square", "norm", "fabs")


@operator("term-dropped", "a term is left out", "arithmetic", ast.BinOp)
def term_dropped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not isinstance(node.op, ast.Add | ast.Sub) or is_complement(node) or in_shape(site) or _is_bound_of_slice(site):
        return
    if (
        _is_formula(node)
        and called(node.right) not in ("max", "amax")
        and not _piles_up(site)
        and number(node.left) is None
    ):
        yield keep(site, node, node.left)


@operator("factor-dropped", "a factor is left out", "arithmetic", ast.BinOp)
def factor_dropped(site: Site) -> Iterator[Edit | None]:
    """A divisor; of two factors the one that looks like a coefficient."""
    node = site.node
    if not isinstance(node.op, ast.Mult | ast.Div) or not _is_formula(node) or in_shape(site) or _is_combined(site):
        return
    first = isinstance(node.op, ast.Mult) and _is_coefficient(node.left) and not _is_coefficient(node.right)
    if first or number(node.left) is None:
        yield keep(site, node, node.right if first else node.left)


def _is_coefficient(node: ast.expr) -> bool:
    return number(node) is not None or named(node, *_COEFFICIENTS) or (is_plain(node) and named(node, "pi"))


@operator("power-dropped", "a power is left out", "arithmetic", ast.BinOp, ast.Call)
def power_dropped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            yield keep(site, node, node.left if number(node.left) is None else node.right)
    elif called(node) in ("pow", "power") and (inner := subject(site, node)) is not None:
        yield keep(site, node, inner)


@operator("minus-dropped", "a minus sign is left out", "arithmetic", ast.UnaryOp)
def minus_dropped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.USub) and not isinstance(number(node), int) and not _indexes(site):
        yield keep(site, node, node.operand)


def _indexes(site: Site) -> bool:
    return any(isinstance(item, ast.Subscript | ast.Slice) for item in (site.parent, site.source.parents[site.parent]))


@operator("function-left-out", "a function is left out", "arithmetic", ast.Call)
def function_left_out(site: Site) -> Iterator[Edit | None]:
    if (
        called(site.node) in _ONE_TO_ONE
        and (inner := subject(site, site.node)) is not None
        and (is_method(site, site.node) or len(site.node.args) == 1)
    ):
        yield keep(site, site.node, inner)


@operator("constant-off", "a constant has another value", "arithmetic", ast.Constant)
def constant_off(site: Site) -> Iterator[Edit | None]:
    value = site.node.value
    if type(value) not in (int, float) or is_eps(site.node) or not _is_free(site):
        return
    if isinstance(value, int):
        yield site.replace(site.node, str(value + 1))
    elif value != 0.0 and abs(value) < 1000:
        yield site.replace(site.node, repr(value * 2))


def _is_free(site: Site) -> bool:
    """Say whether a number may be changed: not an index, an axis or a shape, nor one that other operators change."""
    parent = site.parent
    if isinstance(parent, ast.UnaryOp):
        parent = site.source.parents[parent]
    if isinstance(parent, ast.BinOp):
        moved = isinstance(parent.op, ast.Pow | ast.FloorDiv | ast.Mod) or site.node.value == 1
        return not moved and isinstance(site.source.parents[parent], ast.expr | ast.stmt)
    if isinstance(parent, ast.Subscript | ast.Slice | ast.Compare | ast.Dict | ast.AugAssign):
        return False
    call = site.source.parents[parent] if isinstance(parent, ast.Tuple | ast.List | ast.keyword) else parent
    name = called(call)
    if isinstance(parent, ast.keyword) and parent.arg in (
        "dim",
        "axis",
        "dims",
        "start_dim",
        "end_dim",
        "seed",
        "ddof",
    ):
        return False
    return not isinstance(call, ast.Subscript) and name not in _SHAPING and not name[:1].isupper()

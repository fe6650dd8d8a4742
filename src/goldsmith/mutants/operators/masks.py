"""Mistakes in masks: missing, off by one, inverted, filled with a wrong value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from goldsmith.mutants.operators.patterns import (
    called,
    is_method,
    is_sum,
    keep,
    keyword,
    named,
    number,
    settings,
    sides,
    subject,
)
from goldsmith.mutants.operators.simple import both_ways, rename_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_MASKS = ("mask", "masks", "causal", "future", "padding", "hidden")
_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
}


def _is_minus_infinity(node: ast.AST | None) -> bool:
    """Say whether it is minus infinity, or a number used for it."""
    value = number(node)
    if value is not None:
        return value <= -1e4
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return named(node.operand, "inf", "infinity") or (called(node.operand) == "float" and "inf" in ast.dump(node))
    if called(node) == "float":
        return "'-inf" in ast.dump(node)  # type: ignore[arg-type]
    return isinstance(node, ast.Attribute) and node.attr == "min" and called(node.value) == "finfo"


def _filling(site: Site) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Return the scores, the mask and the filling, where a call fills what a mask hides."""
    node = site.node
    if called(node) in ("masked_fill", "masked_fill_") and is_method(site, node) and len(node.args) == 2:
        return node.func.value, node.args[0], node.args[1]
    if called(node) == "where" and len(node.args) == 3 and not is_method(site, node):
        for filling, scores in ((node.args[1], node.args[2]), (node.args[2], node.args[1])):
            if _is_minus_infinity(filling) or (number(filling) == 0 and named(node.args[0], *_MASKS)):
                return scores, node.args[0], filling
    return None


def _written(node: ast.AST) -> bool:
    """Say whether it is like `scores[mask] = float("-inf")`."""
    return (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript) and _is_minus_infinity(node.value)
    )


@operator("mask-missing", "the mask is not applied", "masks", ast.Call, ast.BinOp, ast.Assign, ast.AugAssign)
def mask_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        if is_sum(node):
            for mask, scores in sides(node):
                if named(mask, *_MASKS):
                    yield keep(site, node, scores)
                    return
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add) and named(node.value, *_MASKS):
            yield site.drop(node)
    elif isinstance(node, ast.Assign):
        if _written(node):
            yield site.drop(node)
    elif found := _filling(site):
        yield site.drop(site.parent) if isinstance(site.parent, ast.Expr) else keep(site, node, found[0])
    else:
        given = keyword(node, "attn_mask", "mask", "key_padding_mask", "attention_mask")
        if given is not None and not isinstance(given.value, ast.Constant):
            yield site.replace(given.value, "None")


@operator("mask-ignores-flag", "attention is told not to be causal", "masks", ast.keyword)
def mask_ignores_flag(site: Site) -> Iterator[Edit | None]:
    value = site.node.value
    if site.node.arg in ("is_causal", "causal") and isinstance(value, ast.Constant) and value.value is True:
        yield site.replace(value, "False")


@operator(
    "mask-after-softmax", "the mask is applied after softmax, so that weights do not add up to one", "masks", ast.Call
)
def mask_after_softmax(site: Site) -> Iterator[Edit | None]:
    if called(site.node) != "softmax":
        return
    inner: Any = subject(site, site.node)
    if called(inner) == "where" and len(inner.args) == 3 and _is_minus_infinity(inner.args[2]):
        mask, scores, _ = map(site.text, inner.args)
        weights = site.text(site.node).replace(site.text(inner), scores, 1)
        yield site.replace(site.node, f"{site.text(inner.func)}({mask}, {weights}, 0.0)")
        return
    if called(inner) != "masked_fill" or not isinstance(inner.func, ast.Attribute) or len(inner.args) != 2:
        return
    whole, hidden = site.text(site.node), site.text(inner)
    scores, mask = site.text(inner.func.value), site.text(inner.args[0])
    yield site.replace(site.node, f"{whole.replace(hidden, scores, 1)}.masked_fill({mask}, 0.0)")


@operator("mask-one-too-far", "the mask lets each position see one more than it may", "masks", ast.Call)
def mask_one_too_far(site: Site) -> Iterator[Edit | None]:
    yield _moved(site, 1)


@operator("mask-one-too-short", "the mask hides each position from itself", "masks", ast.Call)
def mask_one_too_short(site: Site) -> Iterator[Edit | None]:
    yield _moved(site, -1)


def _moved(site: Site, by: int) -> Edit | None:
    if called(site.node) not in ("triu", "tril"):
        return None
    given = keyword(site.node, "diagonal", "k")
    rest = settings(site, site.node)
    diagonal = given.value if given is not None else rest[0] if rest else None
    if diagonal is None:
        return site.argument(site.node, str(by))
    value = number(diagonal)
    return site.replace(diagonal, str(value + by)) if isinstance(value, int) else None


rename_call("mask-of-other-triangle", "the mask hides the past, not the future", "masks", both_ways({"triu": "tril"}))


@operator(
    "mask-filled-with-zero", "what is masked gets a score of zero, and so some weight", "masks", ast.Call, ast.Assign
)
def mask_filled_with_zero(site: Site) -> Iterator[Edit | None]:
    if isinstance(site.node, ast.Assign):
        if _written(site.node):
            yield site.replace(site.node.value, "0.0")
    elif (found := _filling(site)) and _is_minus_infinity(found[2]):
        yield site.replace(found[2], "0.0")


@operator("mask-inverted", "what should be seen is hidden, and the other way round", "masks", ast.Call, ast.Assign)
def mask_inverted(site: Site) -> Iterator[Edit | None]:
    mask: Any = None
    if isinstance(site.node, ast.Assign):
        mask = site.node.targets[0].slice if _written(site.node) else None  # type: ignore[attr-defined]
    elif found := _filling(site):
        mask = found[1]
    if mask is None or isinstance(mask, ast.Tuple | ast.Slice):
        return
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        yield keep(site, mask, mask.operand)
    elif isinstance(mask, ast.Compare) and len(mask.ops) == 1 and type(mask.ops[0]) in _OPPOSITE:
        yield site.write(mask, "{} " + _OPPOSITE[type(mask.ops[0])] + " {}", mask.left, mask.comparators[0])
    else:
        yield site.write(mask, "~{}", mask)


@operator("mask-finite", "a large negative number stands for minus infinity", "masks", ast.Call, ast.UnaryOp)
def mask_finite(site: Site) -> Iterator[Edit | None]:
    """No mistake but for scores of that size."""
    if _is_minus_infinity(site.node) and number(site.node) is None:
        yield site.replace(site.node, "-1e9")

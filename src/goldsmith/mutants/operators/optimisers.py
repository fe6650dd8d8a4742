"""Mistakes in handwritten optimisers: moments, bias correction, eps, weight decay, momentum, the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    bound,
    called,
    identifier,
    in_optimiser,
    is_complement,
    is_eps,
    is_method,
    is_plain,
    is_product,
    is_quotient,
    is_root,
    is_sum,
    keep,
    mentions,
    named,
    number,
    resigned,
    shifted,
    sides,
    split_words,
    subject,
    words,
)
from goldsmith.mutants.operators.simple import both_ways, rename_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_MOMENTS = {"m": "v", "v": "m", "exp_avg": "exp_avg_sq", "exp_avg_sq": "exp_avg", "m_t": "v_t", "v_t": "m_t"}
_GRADIENTS = ("grad", "g", "gradient", "dp", "dw", "d_p")


def _decays(node: ast.AST) -> bool:
    return {"weight", "decay"} <= words(node) or mentions(node, "wd", "decay", "l2")


def _only_decays(node: ast.expr) -> bool:
    """Say whether it consists of products only, one factor of which is the decay rate."""
    return _decays(node) and not any(isinstance(item, ast.Add | ast.Sub) for item in ast.walk(node))


def _is_beta(node: ast.AST) -> bool:
    return named(node, "beta", "betas", "beta1", "beta2", "b1", "b2", "momentum", "mu", "rho", "alpha", "decay")


def _is_correction(node: ast.AST) -> bool:
    """Say whether it is `1 - beta ** t`, or a name for it."""
    is_power = is_complement(node) and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Pow)
    return is_power or named(node, "correction", "bc1", "bc2", "corr")


@operator("betas-exchanged", "the decay rates of the two moments are exchanged", "optimisers", ast.Tuple, ast.Attribute)
def betas_exchanged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Tuple):
        if len(node.elts) == 2 and isinstance(node.ctx, ast.Store) and all(_is_rate(item) for item in node.elts):
            yield site.swap(*node.elts)
    elif isinstance(node.ctx, ast.Load) and _is_rate(node) and node.attr[-1] in "12":
        yield site.rename(node.attr[:-1] + ("2" if node.attr[-1] == "1" else "1"))


def _is_rate(node: ast.AST) -> bool:
    parts = split_words(identifier(node))
    return parts in (["beta", "1"], ["beta", "2"], ["b", "1"], ["b", "2"])


@operator("bias-correction-missing", "a moment is not corrected for its start at zero", "optimisers", ast.BinOp)
def bias_correction_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if (is_quotient(node) and _is_correction(node.right)) or (
        is_product(node) and any(_is_correction(item) for item in ast.walk(node.right)) and is_root(node.right)
    ):
        yield keep(site, node, node.left)


@operator("step-counter-off", "the bias correction is a step ahead or behind", "optimisers", ast.BinOp)
def step_counter_off(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.Pow) and _is_beta(node.left) and number(node.right) is None:
        yield shifted(site, node.right, -1 if is_sum(node.right) else 1)


@operator("eps-inside-root", "eps is added inside the root", "optimisers", ast.BinOp, ast.Call)
def eps_inside_root(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        root, eps = (node.left, node.right) if is_sum(node) else (None, None)
    elif called(node) in ("add", "add_") and is_method(site, node) and len(node.args) == 1:
        root, eps = node.func.value, node.args[0]
    else:
        return
    if root is None or eps is None or not is_root(root) or not is_eps(eps):
        return
    if isinstance(root, ast.BinOp):
        yield site.write(node, "({} + {}) ** 0.5", root.left, eps)
    elif isinstance(root, ast.Call) and is_method(site, root):
        yield site.write(node, "({} + {}).sqrt()", root.func.value, eps)  # type: ignore[attr-defined]
    elif isinstance(root, ast.Call) and (inner := subject(site, root)) is not None:
        yield site.write(node, "{}({} + {})", root.func, inner, eps)


@operator("weight-decay-missing", "weight decay is left out", "optimisers", ast.Expr, ast.AugAssign, ast.BinOp)
def weight_decay_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        if (
            isinstance(node.op, ast.Add | ast.Sub)
            and _decays(node.right)
            and not _decays(node.left)
            and number(node.left) is None
        ):
            yield keep(site, node, node.left)
    elif isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Call) and _decays(node) and called(node.value) != "__init__":
            yield site.drop(node)
    elif _only_decays(node.value):
        yield site.drop(node)


@operator("weight-decay-sign", "weight decay makes weights grow", "optimisers", ast.BinOp, ast.AugAssign)
def weight_decay_sign(site: Site) -> Iterator[Edit | None]:
    node = site.node
    other = "-" if isinstance(node.op, ast.Add) else "+"
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    if isinstance(node, ast.BinOp):
        if _decays(node.right) and not _decays(node.left):
            yield resigned(site, node, other)
    elif _only_decays(node.value):
        old = "+=" if isinstance(node.op, ast.Add) else "-="
        yield site.between(node.target, node.value, old, f"{other}=")


@operator(
    "weight-decay-coupled",
    "weight decay goes into the gradient, and so through the moments",
    "optimisers",
    ast.Expr,
    ast.AugAssign,
)
def weight_decay_coupled(site: Site) -> Iterator[Edit | None]:
    node = site.node
    weights = (
        node.target if isinstance(node, ast.AugAssign) else getattr(getattr(node.value, "func", None), "value", None)
    )
    rate = next((item for item in ast.walk(node.value) if isinstance(item, ast.expr) and _is_decay(item)), None)
    gradient = next((name for name in _GRADIENTS if name in bound(site)), None)
    if weights is None or rate is None or gradient is None or named(weights, *_GRADIENTS):
        return
    yield Edit(*site.source.span(node), (f"{gradient} = {gradient} + {site.text(rate)} * {site.text(weights)}",))


def _is_decay(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "weight_decay"
    return identifier(node) in ("weight_decay", "wd") and is_plain(node)


@operator("momentum-missing", "momentum is left out", "optimisers", ast.BinOp, ast.Call)
def momentum_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        for part, other in sides(node) if isinstance(node.op, ast.Add | ast.Sub) else ():
            if (
                is_product(part)
                and any(named(item, "momentum", "mu") for item in (part.left, part.right))
                and (is_sum(node) or part is node.right)
            ):
                yield keep(site, node, other)
    elif called(node) in ("mul", "mul_") and len(node.args) == 1 and named(node.args[0], "momentum"):
        yield site.replace(node.args[0], "0")


@operator("moments-mixed-up", "one moment is updated from the other", "optimisers", ast.Name, ast.Subscript)
def moments_mixed_up(site: Site) -> Iterator[Edit | None]:
    if not (isinstance(site.parent, ast.BinOp) and is_product(site.parent) and isinstance(site.node.ctx, ast.Load)):
        return
    other = next(item for item in (site.parent.right, site.parent.left) if item is not site.node)
    name = identifier(site.node)
    if _is_beta(other) and name in _MOMENTS and _MOMENTS[name] in site.names:
        if isinstance(site.node, ast.Name):
            yield site.rename(_MOMENTS[name])
        elif isinstance(site.node.value, ast.Name):
            yield site.replace(site.node.value, _MOMENTS[name])


@operator("gradient-not-weighted", "a moment takes the new gradient whole", "optimisers", ast.BinOp)
def gradient_not_weighted(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if is_product(node):
        for part, other in sides(node):
            if is_complement(part) and _is_beta(part.right):
                yield keep(site, node, other)


@operator("step-uphill", "the step goes up the gradient, not down", "optimisers", ast.AugAssign, ast.BinOp, ast.UnaryOp)
def step_uphill(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and _is_step(node.operand) and in_optimiser(site):
            yield keep(site, node, node.operand)
    elif isinstance(node.op, ast.Sub) and isinstance(node, ast.AugAssign):
        if _is_step(node.value):
            yield site.between(node.target, node.value, "-=", "+=")
    elif isinstance(node.op, ast.Sub) and _is_step(node.right) and number(node.left) is None:
        yield resigned(site, node, "+")


def _is_step(node: ast.expr) -> bool:
    return mentions(node, "lr", "eta", "step_size", "rate") and not _decays(node)


@operator("optimiser-constant", "a constant of the optimiser is off", "optimisers", ast.Constant)
def optimiser_constant(site: Site) -> Iterator[Edit | None]:
    usual = {0.9: "0.99", 0.95: "0.9", 0.99: "0.9", 0.999: "0.99"}
    inside = any(isinstance(item, ast.Call) and mentions(item.func, "optim", "adam", "sgd") for item in site.ancestors)
    if type(site.node.value) is float and site.node.value in usual and (in_optimiser(site) or inside):
        yield site.replace(site.node, usual[site.node.value])


rename_call(
    "adam-for-adamw",
    "weight decay is coupled where it should not be, or the other way round",
    "optimisers",
    both_ways({"Adam": "AdamW"}),
)

"""Mistakes in policies: noise and time, the scale of actions, Euler steps, returns and advantages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    identifier,
    in_norm,
    is_complement,
    is_difference,
    is_product,
    is_quotient,
    is_sum,
    keep,
    mentions,
    named,
    number,
    resigned,
    same,
    sides,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_STEPS = ("steps", "substeps")
_STEP_SIZES = ("dt", "h", "step_size", "delta", "delta_t", "dx", "tau")
_PAIRS = {"normalize": "denormalize", "normalise": "denormalise", "scale": "unscale", "transform": "inverse_transform"}
_PAIRS |= {"standardize": "unstandardize", "normalize_actions": "denormalize_actions", "encode": "decode"}
_OTHER = _PAIRS | {two: one for one, two in _PAIRS.items()} | {"unnormalize": "normalize"}
_VALUES = ("value", "values", "baseline", "baselines", "critic")


@operator("noise-sign", "noise enters with the wrong sign", "policies", ast.BinOp)
def noise_sign(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.Add | ast.Sub) and (_is_noise(node.left) != _is_noise(node.right)):
        yield resigned(site, node, "-" if isinstance(node.op, ast.Add) else "+")


def _is_noise(node: ast.expr) -> bool:
    """Say whether it is noise, or noise times something."""
    parts = (node.left, node.right) if is_product(node) else (node,)
    return any(named(item, "noise") or called(item) in ("randn", "randn_like") for item in parts)


@operator(
    "target-reversed", "the target points from the data to the noise, or the other way round", "policies", ast.BinOp
)
def target_reversed(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if is_difference(node) and (_is_noise(node.left) != _is_noise(node.right)):
        yield site.write(node, "{} - {}", node.right, node.left)


@operator("ends-exchanged", "the two ends of a mixture are exchanged", "policies", ast.BinOp)
def ends_exchanged(site: Site) -> Iterator[Edit | None]:
    """`(1 - t) * a + t * b`."""
    node = site.node
    if not (is_sum(node) and is_product(node.left) and is_product(node.right)):
        return
    one, two = node.left, node.right
    for rest, start in sides(one):
        for time, end in sides(two):
            if (is_complement(rest) and same(rest.right, time)) or (is_complement(time) and same(time.right, rest)):
                yield site.write(node, "{} * {} + {} * {}", rest, end, time, start)


@operator("complement-dropped", "t stands where 1 - t belongs", "policies", ast.BinOp)
def complement_dropped(site: Site) -> Iterator[Edit | None]:
    right = site.node.right
    is_whole = isinstance(right, ast.BinOp) and isinstance(right.op, ast.Pow | ast.Mult)
    if is_complement(site.node) and number(right) is None and not is_whole:
        yield keep(site, site.node, site.node.right)


@operator("scaling-skipped", "values are not brought to the other scale", "policies", ast.Call)
def scaling_skipped(site: Site) -> Iterator[Edit | None]:
    if (
        called(site.node) in _OTHER
        and len(site.node.args) == 1
        and isinstance(site.node.func, ast.Attribute)
        and not named(site.node.func.value, "F", "functional", "np", "jnp", "torch")
    ):
        yield keep(site, site.node, site.node.args[0])


@operator("scaling-reversed", "values are scaled the wrong way", "policies", ast.Attribute)
def scaling_reversed(site: Site) -> Iterator[Edit | None]:
    other = _OTHER.get(site.node.attr) if site.is_called and len(site.parent.args) == 1 else None
    defined = {item.name for item in ast.walk(site.source.tree) if isinstance(item, ast.FunctionDef)}
    if other is not None and (other in defined or other.endswith("transform")):
        yield site.rename(other)


@operator("step-size-missing", "a step is not made small", "policies", ast.BinOp)
def step_size_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if is_quotient(node) and named(node.right, *_STEPS) and isinstance(node.left, ast.Call):
        yield keep(site, node, node.left)
    elif is_product(node):
        for size, other in sides(node):
            if identifier(size) in _STEP_SIZES and not isinstance(other, ast.Constant) and _adds(site):
                yield keep(site, node, other)
                return


@operator("step-backwards", "a step goes the wrong way", "policies", ast.BinOp)
def step_backwards(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if is_sum(node) and isinstance(node.left, ast.Name):
        sized = is_quotient(node.right) and named(node.right.right, *_STEPS)
        scaled = is_product(node.right) and any(identifier(item) in _STEP_SIZES for item, _ in sides(node.right))
        if sized or scaled:
            yield resigned(site, node, "-")


def _adds(site: Site) -> bool:
    return isinstance(site.parent, ast.BinOp | ast.AugAssign) and isinstance(site.parent.op, ast.Add | ast.Sub)


@operator("time-at-other-end", "time is taken at the end of a step, not at its start", "policies", ast.BinOp)
def time_at_other_end(site: Site) -> Iterator[Edit | None]:
    if _is_time(site):
        yield site.write(site.node.left, "{} + 1", site.node.left)


@operator("time-backwards", "time runs backwards", "policies", ast.BinOp)
def time_backwards(site: Site) -> Iterator[Edit | None]:
    if _is_time(site):
        yield site.write(site.node, "1 - {}", site.node)


def _is_time(site: Site) -> bool:
    """Say whether it is like `step / steps` or `i * dt`, in a loop that counts steps."""
    node = site.node
    scaled = (is_quotient(node) and named(node.right, *_STEPS)) or (
        is_product(node) and identifier(node.right) in _STEP_SIZES
    )
    counters = [item.target for item in site.ancestors if isinstance(item, ast.For) and called(item.iter) == "range"]
    return scaled and any(same_name(node.left, item) for item in counters)


def same_name(one: ast.AST, two: ast.AST) -> bool:
    return isinstance(one, ast.Name) and isinstance(two, ast.Name) and one.id == two.id


@operator("discount-missing", "what comes later is not discounted", "policies", ast.BinOp)
def discount_missing(site: Site) -> Iterator[Edit | None]:
    if is_product(site.node) and not in_norm(site):
        for part, other in sides(site.node):
            if identifier(part) in ("gamma", "discount", "lam", "gae_lambda", "discount_factor"):
                yield keep(site, site.node, other)


@operator("episode-end-ignored", "values reach across the end of an episode", "policies", ast.BinOp)
def episode_end_ignored(site: Site) -> Iterator[Edit | None]:
    if is_product(site.node):
        for part, other in sides(site.node):
            if is_complement(part) and mentions(part, "done", "dones", "terminal", "terminated", "terminals"):
                yield keep(site, site.node, other)


@operator("advantage-sign", "the advantage has the wrong sign", "policies", ast.BinOp)
def advantage_sign(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if (
        is_difference(node)
        and named(node.right, *_VALUES)
        and not named(node.left, *_VALUES)
        and number(node.left) is None
    ):
        yield site.write(node, "{} - {}", node.right, node.left)


@operator("policy-gradient-sign", "what worked is made less likely", "policies", ast.UnaryOp)
def policy_gradient_sign(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.USub) and mentions(node, "prob", "probs", "logprob", "advantage", "advantages", "adv"):
        yield keep(site, node, node.operand)

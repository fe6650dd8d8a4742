"""Mistakes in training: a missing step, the wrong mode, losses summed wrongly, weights that should not exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from goldsmith.mutants.operators.patterns import (
    called,
    is_method,
    is_quotient,
    is_sum,
    keep,
    keyword,
    mentions,
    named,
    number,
    sides,
    words,
)
from goldsmith.mutants.operators.simple import drop_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit


def _is_schedule(site: Site) -> bool:
    return any("sched" in word for word in words(site.node))


drop_call("zero-grad-missing", "gradients are not set to zero: they pile up", "training", "zero_grad")


@operator("optimizer-step-missing", "the optimiser never takes its step", "training", ast.Expr)
def optimizer_step_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node.value) == "step" and not _is_schedule(site):
        yield site.drop(site.node)


drop_call("scheduler-step-missing", "the learning rate never changes", "training", "step", where=_is_schedule)


drop_call("backward-missing", "no gradients are computed", "training", "backward")


@operator("clipping-missing", "gradients are not clipped", "training", ast.Expr)
def clipping_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node.value).startswith("clip_grad"):
        yield site.drop(site.node)


@operator(
    "clipping-of-other-kind",
    "gradients are clipped one by one, not by their norm, or the other way round",
    "training",
    ast.Call,
)
def clipping_of_other_kind(site: Site) -> Iterator[Edit | None]:
    others = {"clip_grad_norm_": "clip_grad_value_", "clip_grad_value_": "clip_grad_norm_"}
    if called(site.node) in others and isinstance(site.parent, ast.Expr):
        end = site.source.span(site.node.func)[1]
        yield Edit(end - len(called(site.node)), end, (others[called(site.node)],))


@operator("train-mode-missing", "the model is not put into training mode", "training", ast.Expr)
def train_mode_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node.value) == "train" and not site.node.value.args and is_method(site, site.node.value):
        yield site.drop(site.node)


@operator("eval-mode-missing", "the model is not put into evaluation mode", "training", ast.Expr)
def eval_mode_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node.value) == "eval" and is_method(site, site.node.value):
        yield site.drop(site.node)


@operator("mode-left-changed", "the mode that a model was in is not restored", "training", ast.Expr, ast.Assign)
def mode_left_changed(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Assign):
        restores = any(isinstance(item, ast.Attribute) and item.attr == "training" for item in node.targets)
    else:
        call = node.value
        restores = called(call) == "train" and bool(call.args) and is_method(site, call)
        restores = restores and number(call.args[0]) is None and not isinstance(call.args[0], ast.Constant)
    if restores and any(_sets_mode(item) and item.lineno < node.lineno for item in ast.walk(site.function)):
        yield site.drop(node)


def _sets_mode(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and called(node) in ("eval", "train")


@operator(
    "gradient-switch", "gradients are recorded where they should not be, or the other way round", "training", ast.With
)
def gradient_switch(site: Site) -> Iterator[Edit | None]:
    others = {"no_grad": "enable_grad", "inference_mode": "enable_grad", "enable_grad": "no_grad"}
    for item in site.node.items:
        name = called(item.context_expr)
        if name in others and isinstance(item.context_expr, ast.Call):
            end = site.source.span(item.context_expr.func)[1]
            yield Edit(end - len(name), end, (others[name],))


@operator("detach-missing", "a gradient flows where it should be cut off", "training", ast.Call)
def detach_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node) == "detach" and is_method(site, site.node):
        yield keep(site, site.node, site.node.func.value)


@operator("last-loss-only", "only the last loss counts, not all of them", "training", ast.AugAssign, ast.BinOp)
def last_loss_only(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add) and mentions(node.value, "loss", "item"):
            yield site.between(node.target, node.value, "+=", "=")
    elif is_sum(node):
        targets = {item.id for item in _targets(site.statement) if isinstance(item, ast.Name)}
        for loss, total in sides(node):
            if isinstance(total, ast.Name) and total.id in targets and mentions(loss, "loss", "item"):
                yield keep(site, node, loss)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if not isinstance(statement, ast.Assign):
        return []
    return [part for item in statement.targets for part in getattr(item, "elts", [item])]


@operator("loss-not-averaged", "losses are added up but not divided by their number", "training", ast.BinOp)
def loss_not_averaged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    is_total = is_quotient(node) and named(node.left, "total", "loss", "losses", "running", "epoch")
    if is_total and mentions(site.function, "loss", "losses") and number(node.right) is None:
        yield keep(site, node, node.left)


@operator(
    "samples-counted-for-batches", "samples are counted where batches should be", "training", ast.AugAssign, ast.BinOp
)
def samples_counted_for_batches(site: Site) -> Iterator[Edit | None]:
    node = site.node
    loop = next((item for item in site.ancestors if isinstance(item, ast.For)), None)
    one = node.value if isinstance(node, ast.AugAssign) else node.right
    counted = node.target if isinstance(node, ast.AugAssign) else node.left
    if (
        loop is None
        or not isinstance(node.op, ast.Add)
        or number(one) != 1
        or called(loop.iter) in ("range", "enumerate")
    ):
        return
    batch = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    if (
        isinstance(batch, ast.Name)
        and mentions(loop, "loss")
        and named(counted, "count", "n", "batches", "steps", "num")
    ):
        yield site.replace(one, f"len({batch.id})")


@operator("bias-added", "a layer gets a bias that it should not have", "training", ast.Call)
def bias_added(site: Site) -> Iterator[Edit | None]:
    given = keyword(site.node, "bias")
    if given is not None and isinstance(given.value, ast.Constant) and given.value.value is False:
        yield site.replace(given.value, "True")


@operator("buffer-trained", "a fixed table becomes a weight, which training changes", "training", ast.Expr)
def buffer_trained(site: Site) -> Iterator[Edit | None]:
    call = site.node.value
    if called(call) == "register_buffer" and len(call.args) >= 2 and "nn" in site.imported:
        name = call.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value.isidentifier():
            yield Edit(*site.source.span(site.node), (f"self.{name.value} = nn.Parameter({site.text(call.args[1])})",))

"""Mistakes in losses: shifts, reductions, ignored targets, misplaced logarithms and softmaxes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    LOSSES,
    around,
    called,
    identifier,
    keep,
    keyword,
    named,
    number,
    split_words,
    subject,
)
from goldsmith.mutants.operators.simple import rename_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_LOSS_NAMES = frozenset({"loss", "entropy", "nll", "mse"})
_SHIFTING = ("loss", "losses", "entropy", "nll", "targets", "target", "labels", "logits")
_OTHER = {
    "mse_loss": "l1_loss",
    "l1_loss": "mse_loss",
    "smooth_l1_loss": "mse_loss",
    "huber_loss": "mse_loss",
    "MSELoss": "L1Loss",
    "L1Loss": "MSELoss",
    "SmoothL1Loss": "MSELoss",
    "HuberLoss": "MSELoss",
}


def _is_all_but_first(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice) and number(node.lower) == 1 and node.upper is None and node.step is None


def _is_all_but_last(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and number(node.upper) == -1 and node.step is None


@operator("targets-not-shifted", "targets are not shifted: each position predicts itself", "losses", ast.Slice)
def targets_not_shifted(site: Site) -> Iterator[Edit | None]:
    if _is_all_but_first(site.node) and around(site, *_SHIFTING):
        yield Edit(*site.source.span(site.node), (":-1",))


@operator("predictions-not-shifted", "predictions lose the first position, not the last", "losses", ast.Slice)
def predictions_not_shifted(site: Site) -> Iterator[Edit | None]:
    if _is_all_but_last(site.node) and around(site, *_SHIFTING):
        yield Edit(*site.source.span(site.node), ("1:",))


@operator("shifted-to-wrong-side", "targets are shifted to the wrong side", "losses", ast.Call)
def shifted_to_wrong_side(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in LOSSES:
        return
    parts = [item for item in ast.walk(site.node) if _is_all_but_first(item) or _is_all_but_last(item)]
    if len(parts) == 2 and _is_all_but_first(parts[0]) != _is_all_but_first(parts[1]):
        one, two = sorted(parts, key=site.source.span)
        (start, end), (start_2, end_2) = site.source.span(one), site.source.span(two)
        between = site.source.content[end:start_2].decode("utf-8")
        yield Edit(start, end_2, (f"{site.text(two)}{between}{site.text(one)}",))


@operator("loss-summed", "the loss is a sum where it should be a mean, or the other way round", "losses", ast.Call)
def loss_summed(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) not in LOSSES:
        return
    given = keyword(node, "reduction")
    if given is None:
        yield site.argument(node, 'reduction="sum"')
    elif isinstance(given.value, ast.Constant) and given.value.value in ("mean", "sum"):
        yield site.replace(given.value, '"sum"' if given.value.value == "mean" else '"mean"')


@operator("loss-not-a-mean", "the loss adds up where it should average", "losses", ast.Attribute)
def loss_not_a_mean(site: Site) -> Iterator[Edit | None]:
    is_mean = site.is_called and site.node.attr == "mean"
    if is_mean and (not _LOSS_NAMES.isdisjoint(split_words(site.function.name)) or _is_loss(site.statement)):
        yield site.rename("sum")


def _is_loss(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and named(statement.targets[0], "loss", "nll", "mse")


@operator("ignored-targets-counted", "targets that should be ignored count", "losses", ast.Call)
def ignored_targets_counted(site: Site) -> Iterator[Edit | None]:
    given = keyword(site.node, "ignore_index")
    if given is not None and called(site.node) in LOSSES:
        yield site.without(site.node, given)


@operator("loss-option-dropped", "an option of the loss is left out", "losses", ast.Call)
def loss_option_dropped(site: Site) -> Iterator[Edit | None]:
    for item in site.node.keywords if called(site.node) in LOSSES else ():
        if item.arg in ("weight", "label_smoothing", "pos_weight", "beta", "delta", "log_target"):
            yield site.without(site.node, item)


rename_call("loss-exchanged", "absolute and squared error are exchanged", "losses", _OTHER)


@operator("softmax-twice", "the loss gets probabilities where it takes logits", "losses", ast.Call)
def softmax_twice(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) == "cross_entropy" and node.args and identifier(node.func) and called(node.args[0]) != "softmax":
        yield site.write(node.args[0], "{}.softmax(dim=-1)", node.args[0])
    elif called(node) == "binary_cross_entropy_with_logits" and node.args:
        yield site.write(node.args[0], "{}.sigmoid()", node.args[0])


@operator("log-left-out", "a logarithm is left out", "losses", ast.Call)
def log_left_out(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) == "log_softmax":
        end = site.source.span(node.func)[1]
        yield Edit(end - len("log_softmax"), end, ("softmax",))
    elif called(node) in ("log", "log1p", "log2", "logsumexp"):
        inner = subject(site, node)
        if inner is not None and number(inner) is None and called(node) != "logsumexp":
            yield keep(site, node, inner)


@operator("log-of-other-base", "the logarithm has another base", "losses", ast.Attribute)
def log_of_other_base(site: Site) -> Iterator[Edit | None]:
    if (
        site.is_called
        and site.node.attr in ("log", "log2")
        and site.parent.args[:1]
        and number(site.parent.args[0]) is None
    ):
        yield site.rename("log2" if site.node.attr == "log" else "log")


@operator("padding-assumed", "targets of zero are ignored though they count", "losses", ast.Call)
def padding_assumed(site: Site) -> Iterator[Edit | None]:
    if called(site.node) == "cross_entropy" and keyword(site.node, "ignore_index") is None:
        yield site.argument(site.node, "ignore_index=0")

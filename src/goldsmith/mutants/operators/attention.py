"""Mistakes in attention: the scale, the softmax, the heads, who is query, key and value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from goldsmith.mutants.operators.patterns import (
    around,
    axis_of,
    bound,
    called,
    constructors,
    identifier,
    is_matmul,
    is_own,
    is_product,
    is_quotient,
    is_root,
    keep,
    keyword,
    mentions,
    named,
    neighbour,
    number,
    sides,
    split_words,
    subject,
    uses_jax,
)
from goldsmith.mutants.operators.simple import unwrap_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_ATTENDING = ("softmax", "attention", "attn", "attend", "scores")
_SCORES = (
    "q",
    "xq",
    "query",
    "queries",
    "scores",
    "score",
    "attn",
    "att",
    "attention",
    "logits",
    "weights",
    "sim",
    "dots",
)
_QUERIES, _KEYS, _VALUES = (("q", "xq", "query", "queries"), ("k", "xk", "key", "keys"), ("v", "xv", "value", "values"))
_WIDTHS = (
    "dim",
    "d_model",
    "width",
    "embed_dim",
    "model_dim",
    "hidden_dim",
    "hidden_size",
    "n_embd",
    "emb_dim",
    "d",
    "c",
    "C",
)


def _is_scale(node: ast.expr) -> bool:
    return any(is_root(item) for item in ast.walk(node)) or named(node, "scale", "scaling")


@operator(
    "attention-scale-missing",
    "attention scores are not divided by the root of the head's width",
    "attention",
    ast.BinOp,
    ast.AugAssign,
)
def scale_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not around(site, *_ATTENDING):
        return
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Div | ast.Mult) and named(node.target, *_SCORES) and _is_scale(node.value):
            yield site.drop(node)
        return
    if is_quotient(node) or is_product(node):
        pairs = sides(node) if is_product(node) else iter([(node.right, node.left)])
        for scale, scores in pairs:
            if _is_scale(scale) and (is_matmul(scores) or named(scores, *_SCORES)):
                yield keep(site, node, scores)
                return


@operator(
    "attention-scale-without-root",
    "attention scores are divided by the width, not by its root",
    "attention",
    ast.BinOp,
    ast.Call,
)
def scale_without_root(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not is_root(node) or not _scales_attention(site):
        return
    if isinstance(node, ast.BinOp):
        yield keep(site, node, node.left) if number(node.right) == 0.5 else site.write(node, "{} ** -1", node.left)
    elif called(node) == "sqrt" and (inner := subject(site, node)) is not None:
        yield keep(site, node, inner)


@operator(
    "attention-scale-of-other-width",
    "attention scores are scaled by the root of another width",
    "attention",
    ast.BinOp,
    ast.Call,
)
def scale_of_other_width(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not is_root(node) or not _scales_attention(site):
        return
    inner = node.left if isinstance(node, ast.BinOp) else subject(site, node)
    own = next((name for name in _WIDTHS if name in bound(site)), None)
    if inner is not None and own is not None and identifier(inner) != own:
        yield site.replace(inner, own)


def _scales_attention(site: Site) -> bool:
    """Say whether the root is that of a width, in a function that computes attention."""
    inner = site.node.left if isinstance(site.node, ast.BinOp) else subject(site, site.node)
    width = inner is not None and not mentions(inner, "eps", "var", "mean", "epsilon", "sum")
    return width and around(site, *_ATTENDING)


@operator("softmax-over-wrong-axis", "softmax runs over the wrong axis", "attention", ast.Call)
def softmax_over_wrong_axis(site: Site) -> Iterator[Edit | None]:
    if called(site.node) in ("softmax", "log_softmax", "Softmax", "LogSoftmax", "logsumexp"):
        axis = axis_of(site, site.node)
        value = number(axis)
        if axis is not None and isinstance(value, int):
            yield site.replace(axis, str(neighbour(value)))


unwrap_call("softmax-left-out", "softmax is left out", "attention", ("softmax",))


@operator(
    "sigmoid-for-softmax",
    "each score is squashed on its own, so that weights do not add up to one",
    "attention",
    ast.Call,
)
def sigmoid_for_softmax(site: Site) -> Iterator[Edit | None]:
    if called(site.node) == "softmax" and "torch" in site.imported:
        inner = subject(site, site.node)
        if inner is not None:
            yield site.write(site.node, "torch.sigmoid({})", inner)
    elif called(site.node) == "softmax" and uses_jax(site) and isinstance(site.node.func, ast.Attribute):
        inner = subject(site, site.node)
        if inner is not None:
            yield site.write(site.node, f"{site.text(site.node.func.value)}.sigmoid({{}})", inner)


@operator(
    "heads-not-transposed-back", "heads are joined without moving them back beside their width", "attention", ast.Call
)
def heads_not_transposed_back(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in ("reshape", "view", "flatten") or not isinstance(site.node.func, ast.Attribute):
        return
    inner: Any = site.node.func.value
    if called(inner) == "contiguous" and isinstance(inner.func, ast.Attribute):
        inner = inner.func.value
    if called(inner) in ("transpose", "swapaxes", "movedim") and isinstance(inner.func, ast.Attribute):
        yield keep(site, inner, inner.func.value)


@operator(
    "heads-split-crosswise", "heads are split off without a transpose, so that positions mix", "attention", ast.Call
)
def heads_split_crosswise(site: Site) -> Iterator[Edit | None]:
    call = site.node
    if called(call) != "transpose" or not isinstance(call.func, ast.Attribute):
        return
    if [number(item) for item in call.args] not in ([1, 2], [2, 1], [0, 2, 1, 3]):
        return
    split: Any = call.func.value
    if called(split) in ("view", "reshape") and len(split.args) == 4:
        one, two, three, four = (site.text(item) for item in split.args)
        whole = site.text(split.func).removesuffix(called(split))
        yield site.replace(call, f"{whole}reshape({one}, {three}, {two}, {four})")


@operator("query-key-swapped", "queries and keys are mixed up", "attention", ast.BinOp, ast.Call)
def query_key_swapped(site: Site) -> Iterator[Edit | None]:
    if not is_matmul(site.node):
        return
    operands = [site.node.left, site.node.right] if isinstance(site.node, ast.BinOp) else site.node.args
    found = [item for part in operands for item in ast.walk(part) if isinstance(item, ast.Name)]
    query = next((item for item in found if named(item, *_QUERIES)), None)
    key = next((item for item in found if named(item, *_KEYS)), None)
    if query is not None and key is not None:
        yield site.swap(*sorted((query, key), key=site.source.span))


@operator("key-value-swapped", "keys and values are mixed up", "attention", ast.Tuple)
def key_value_swapped(site: Site) -> Iterator[Edit | None]:
    if not isinstance(site.node.ctx, ast.Store):
        return
    keys = [item for item in site.node.elts if named(item, *_KEYS)]
    values = [item for item in site.node.elts if named(item, *_VALUES)]
    if len(keys) == len(values) == 1 and any(named(item, *_QUERIES) for item in site.node.elts):
        yield site.swap(*sorted((keys[0], values[0]), key=site.source.span))


@operator("key-for-value", "keys are averaged where values belong", "attention", ast.BinOp)
def key_for_value(site: Site) -> Iterator[Edit | None]:
    value = site.node.right
    if isinstance(site.node.op, ast.MatMult) and isinstance(value, ast.Name) and value.id in _VALUES:
        key = _KEYS[_VALUES.index(value.id)]
        if key in bound(site):
            yield site.replace(value, key)


@operator("heads-for-width", "the number of heads and the width of a head are exchanged", "attention", ast.Call)
def heads_for_width(site: Site) -> Iterator[Edit | None]:
    call = site.node
    moved = isinstance(site.parent, ast.Attribute) and site.parent.attr == "transpose"
    if moved and called(call) in ("view", "reshape") and len(call.args) == 4 and mentions(call, "heads", "head", "h"):
        yield site.swap(call.args[2], call.args[3])


@operator(
    "projection-mixed-up", "queries, keys or values come from another one's projection", "attention", ast.Attribute
)
def projection_mixed_up(site: Site) -> Iterator[Edit | None]:
    if not (site.is_called and is_own(site.node)):
        return
    parts = {"q": "k", "k": "v", "v": "k", "query": "key", "key": "value", "value": "key"}
    layers = constructors(site)
    for word in split_words(site.node.attr):
        if word in parts:
            other = site.node.attr.replace(word, parts[word], 1)
            if other in layers and site.node.attr in layers:
                yield site.rename(other)


@operator("output-projection-skipped", "the output projection of attention is not applied", "attention", ast.Call)
def output_projection_skipped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    own = is_own(node.func) and named(node.func, "out", "output", "o", "wo", "proj", "c")
    if own and len(node.args) == 1 and not node.keywords and around(site, *_ATTENDING):
        made = constructors(site).get(node.func.attr)
        if made is None or len(made.args) < 2 or site.text(made.args[0]) == site.text(made.args[1]):
            yield keep(site, node, node.args[0])


@operator("dropout-in-eval", "dropout stays on while evaluating", "attention", ast.Call)
def dropout_in_eval(site: Site) -> Iterator[Edit | None]:
    node = site.node
    training = keyword(node, "training")
    if called(node).startswith("dropout") and training is not None and not isinstance(training.value, ast.Constant):
        yield site.replace(training.value, "True")
    rate = keyword(node, "dropout_p")
    if rate is not None and isinstance(rate.value, ast.IfExp):
        yield keep(site, rate.value, rate.value.body)
    if (
        is_own(node.func)
        and len(node.args) == 1
        and "F" in site.imported
        and called(constructors(site).get(node.func.attr)) == "Dropout"
    ):
        layer = site.text(node.func)
        yield site.replace(node, f"F.dropout({site.text(node.args[0])}, {layer}.p)")

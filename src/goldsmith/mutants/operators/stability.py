"""Formulas that are right on paper but not in floating point: exponentials of large numbers, logarithms of zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    is_method,
    is_plain,
    keep,
    keyword,
    same,
    subject,
    uses_jax,
    uses_torch,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit


@operator("softmax-overflows", "softmax by hand, of scores whose largest is not taken off first", "stability", ast.Call)
def softmax_overflows(site: Site) -> Iterator[Edit | None]:
    node = site.node
    scores, axis = subject(site, node), keyword(node, "dim", "axis")
    if called(node) == "softmax" and uses_torch(site) and scores is not None and axis is not None:
        over = f"sum({site.text(axis)}, keepdim=True)"
        yield site.write(node, f"{{}}.exp() / {{}}.exp().{over}", scores, scores)
    elif called(node) == "softmax" and _has_functions(site) and scores is not None:
        over = f"sum({site.text(axis.value) if axis else -1}, keepdims=True)"
        yield site.write(node, f"jnp.exp({{}}) / jnp.exp({{}}).{over}", scores, scores)


def _has_functions(site: Site) -> bool:
    """Say whether there is a `jnp` to write functions of: an array of JAX has no methods for them."""
    return uses_jax(site) and "jnp" in site.imported


@operator("largest-not-taken-off", "the largest is not taken off before an exponential", "stability", ast.BinOp)
def largest_not_taken_off(site: Site) -> Iterator[Edit | None]:
    node = site.node
    largest = next((item for item in ast.walk(node.right) if called(item) in ("max", "amax")), None)
    if isinstance(node.op, ast.Sub) and isinstance(largest, ast.Call):
        of = subject(site, largest)
        if of is not None and same(of, node.left):
            yield keep(site, node, node.left)


@operator("log-of-softmax", "the logarithm of a softmax: minus infinity where that is tiny", "stability", ast.Call)
def log_of_softmax(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) == "log_softmax" and uses_torch(site):
        start, end = site.source.span(node.func)[1] - len("log_softmax"), site.source.span(node)[1]
        rest = site.source.content[start:end].decode("utf-8").removeprefix("log_")
        yield Edit(start, end, (f"{rest}.log()",))
    elif called(node) == "log_softmax" and _has_functions(site):
        yield site.replace(node, f"jnp.log({site.text(node).replace('log_softmax', 'softmax', 1)})")
    elif _is_cross_entropy(node):
        logits, module = site.text(node.args[0]), site.text(node.func.value)
        start, end = site.source.span(node)[0], site.source.span(node.args[0])[1]
        texts = (f"{module}.nll_loss({item}.softmax(dim=1).log()" for item in (logits, f"({logits})"))
        yield Edit(start, end, tuple(texts))


def _is_cross_entropy(node: ast.Call) -> bool:
    """Say whether it is a `cross_entropy` whose options `nll_loss` has, too."""
    known = all(item.arg in ("reduction", "ignore_index", "weight") for item in node.keywords)
    return called(node) == "cross_entropy" and isinstance(node.func, ast.Attribute) and len(node.args) == 2 and known


@operator("logsumexp-overflows", "the logarithm of a sum of exponentials that may be infinite", "stability", ast.Call)
def logsumexp_overflows(site: Site) -> Iterator[Edit | None]:
    node = site.node
    of = subject(site, node)
    if called(node) == "logsumexp" and (uses_torch(site) or _has_functions(site)) and of is not None:
        rest = [*(node.args if is_method(site, node) else node.args[1:]), *node.keywords]
        over = ", ".join(site.text(item) for item in rest)
        method, function = f"{{}}.exp().sum({over}).log()", f"jnp.log(jnp.exp({{}}).sum({over}))"
        yield site.write(node, method if uses_torch(site) else function, of)


@operator("sigmoid-overflows", "a sigmoid as the quotient of two infinite numbers", "stability", ast.Call)
def sigmoid_overflows(site: Site) -> Iterator[Edit | None]:
    node = site.node
    of = subject(site, node)
    if called(node) not in ("silu", "sigmoid") or of is None or node.keywords:
        return
    if (uses_torch(site) or _has_functions(site)) and (is_plain(of) or isinstance(of, ast.Call)):
        template = "{} * ({}.exp() / (1 + {}.exp()))" if called(node) == "silu" else "{}.exp() / (1 + {}.exp())"
        template = template if uses_torch(site) else template.replace("{}.exp()", "jnp.exp({})")
        yield site.write(node, template, *[of] * template.count("{}"))

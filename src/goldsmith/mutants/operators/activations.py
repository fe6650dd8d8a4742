"""Mistakes with activations: a different one, none, or one in the wrong place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    identifier,
    is_library,
    is_own,
    is_product,
    keep,
    keyword,
    named,
    subject,
    uses_jax,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_OTHER = {
    "F": {
        "silu": "gelu",
        "gelu": "relu",
        "relu": "gelu",
        "leaky_relu": "relu",
        "elu": "relu",
        "softplus": "relu",
        "mish": "silu",
    },
    "nn": {
        "SiLU": "GELU",
        "GELU": "ReLU",
        "ReLU": "GELU",
        "Tanh": "Sigmoid",
        "Sigmoid": "Tanh",
        "LeakyReLU": "ReLU",
        "ELU": "ReLU",
    },
    "torch": {"relu": "tanh", "tanh": "sigmoid", "sigmoid": "tanh"},
}
_ACTIVATIONS = frozenset(
    {"silu", "gelu", "relu", "leaky_relu", "elu", "softplus", "mish", "tanh", "sigmoid", "relu6", "selu"}
    | {"swish", "glu", "hardswish"}
)


@operator("activation-exchanged", "another activation is used", "activations", ast.Attribute)
def activation_exchanged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not site.is_called or named(node.value, "np", "numpy", "math"):
        return
    module = identifier(node.value) if is_library(site, node.value) else "torch"
    functions = module == "functional" or (uses_jax(site) and module != "jnp")
    other = _OTHER.get("F" if functions else module, {}).get(node.attr)
    if other is not None:
        yield site.rename(other)


@operator(
    "gelu-approximated", "gelu is the approximation by tanh, or is not where it should be", "activations", ast.Call
)
def gelu_approximated(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in ("gelu", "GELU") or not isinstance(site.node.func, ast.Attribute):
        return
    given = keyword(site.node, "approximate")
    if uses_jax(site):  # where the approximation is what one gets by default
        if given is None:
            yield site.argument(site.node, "approximate=False")
        elif isinstance(given.value, ast.Constant):
            yield site.replace(given.value, str(not given.value.value))
    elif given is None:
        yield site.argument(site.node, 'approximate="tanh"')
    elif isinstance(given.value, ast.Constant):
        yield site.replace(given.value, '"none"' if given.value.value == "tanh" else '"tanh"')


@operator("activation-left-out", "the activation is left out", "activations", ast.Call)
def activation_left_out(site: Site) -> Iterator[Edit | None]:
    node = site.node
    own = identifier(node.func) in ("act", "act_fn", "activation", "nonlinearity", "non_linearity")
    if (own and len(node.args) == 1) or called(node) in _ACTIVATIONS:
        inner = node.args[0] if own else subject(site, node)
        if inner is not None:
            yield keep(site, node, inner)


@operator("gate-and-value-exchanged", "the activation sits on the other factor of a gate", "activations", ast.BinOp)
def gate_and_value_exchanged(site: Site) -> Iterator[Edit | None]:
    if not is_product(site.node):
        return
    gate, value = site.node.left, site.node.right
    if not isinstance(gate, ast.Call) or called(gate) not in _ACTIVATIONS or called(value) in _ACTIVATIONS:
        return
    if isinstance(value, ast.Call | ast.Name) and len(gate.args) == 1 and not gate.keywords:
        yield site.write(site.node, "{} * {}({})", gate.args[0], gate.func, value)


@operator("activation-misplaced", "the activation and a layer beside it have changed places", "activations", ast.Call)
def activation_misplaced(site: Site) -> Iterator[Edit | None]:
    outer = site.node
    inner = outer.args[0] if len(outer.args) == 1 and not outer.keywords else None
    if not isinstance(inner, ast.Call) or len(inner.args) != 1 or inner.keywords:
        return
    behind = is_own(outer.func) and called(inner) in _ACTIVATIONS
    before = is_own(inner.func) and called(outer) in _ACTIVATIONS and not is_own(getattr(site.parent, "func", outer))
    if behind or before:
        yield site.replace(outer, f"{site.text(inner.func)}({site.text(outer.func)}({site.text(inner.args[0])}))")

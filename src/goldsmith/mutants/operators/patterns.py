"""Patterns that operators look for: small questions about nodes, and about the function and class around them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from goldsmith.mutants.registry import Site
from goldsmith.mutants.source import Edit

MEANS = frozenset({"mean", "nanmean"})
SPREADS = frozenset({"std", "var", "nanstd", "nanvar"})
LOSSES = frozenset(
    {"cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"}
    | {"kl_div", "binary_cross_entropy_with_logits", "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss"}
    | {"SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss"}
)
_SHAPING = frozenset(
    {"view", "reshape", "expand", "repeat", "ones", "zeros", "empty", "unflatten", "tile", "broadcast_to"}
)
_SIGNS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


# --- names and words --------------------------------------------------------------------------------------------------


def identifier(node: ast.AST | None) -> str:
    """Return `rope` for `rope`, `self.rope`, `rope[0]`, `state["rope"]`; "" for a node without a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return key if isinstance(key, str) else identifier(node.value)
    return node.id if isinstance(node, ast.Name) else ""


def called(node: ast.AST | None) -> str:
    """Return the name that a call calls, without its module or object; "" for a node that is not a call."""
    if not isinstance(node, ast.Call) or isinstance(node.func, ast.Subscript):
        return ""
    return identifier(node.func)


def split_words(name: str) -> list[str]:
    """Split a name into words: `beta1` into beta and 1, `headDim` into head and dim."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+", parted)]


@lru_cache(maxsize=4096)
def words(node: ast.AST) -> frozenset[str]:
    """Return every word in the names inside a node, and in the keys it looks up."""
    found: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            found.update(split_words(item.id))
        elif isinstance(item, ast.Attribute):
            found.update(split_words(item.attr))
        elif isinstance(item, ast.arg | ast.keyword):
            found.update(split_words(item.arg or ""))
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.update(split_words(item.name))
        elif isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant):
            found.update(split_words(str(item.slice.value)))
    return frozenset(found)


def mentions(node: ast.AST, *any_of: str) -> bool:
    return not words(node).isdisjoint(any_of)


def named(node: ast.AST | None, *any_of: str) -> bool:
    """Say whether one of the words is in the node's own name."""
    return not set(any_of).isdisjoint(split_words(identifier(node)))


# --- around a node ----------------------------------------------------------------------------------------------------


def owner(site: Site) -> ast.ClassDef | None:
    """Return the class whose method the site is in."""
    parent = site.source.parents[site.function]
    return parent if isinstance(parent, ast.ClassDef) else None


def around(site: Site, *any_of: str) -> bool:
    """Say whether one of the words is in the function, or in the name of its class."""
    kind = owner(site)
    return mentions(site.function, *any_of) or (kind is not None and not set(any_of).isdisjoint(split_words(kind.name)))


def bound(site: Site) -> set[str]:
    """Return the names that the function takes or sets."""
    stored = {item.id for item in ast.walk(site.function) if isinstance(item, ast.Name) and _is_stored(item)}
    return stored | {item.arg for item in ast.walk(site.function.args) if isinstance(item, ast.arg)}


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def constructors(site: Site) -> dict[str, ast.Call]:
    """Return the calls that make the class's attributes: `nn.Linear(dim, dim)` by `out_proj`."""
    kind = owner(site)
    found = {}
    for item in ast.walk(kind) if kind is not None else ():
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call) and len(item.targets) == 1:
            target = item.targets[0]
            if is_own(target):
                found[target.attr] = item.value
    return found


def is_own(node: ast.AST | None) -> TypeGuard[ast.Attribute]:
    """Say whether it is like `self.something`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def records_gradients(site: Site) -> bool:
    """Say whether it is in torch, in a function that is not decorated with `no_grad`."""
    return uses_torch(site) and not any(mentions(item, "no_grad", "grad", "inference") for item in _decorators(site))


def _decorators(site: Site) -> list[ast.expr]:
    return site.function.decorator_list


def in_shape(site: Site) -> bool:
    """Say whether the node is part of a shape: a wrong one would only crash."""
    child = site.node
    for parent in site.ancestors:
        if called(parent) in _SHAPING and child is not parent.func:  # type: ignore[attr-defined]
            return True
        child = parent
    return False


def uses_torch(site: Site) -> bool:
    return not site.imported.isdisjoint({"torch", "F"}) or ("nn" in site.imported and not uses_jax(site))


def uses_jax(site: Site) -> bool:
    """Say whether it is in JAX, whose functions are spelt as NumPy's are, and whose arrays have few methods."""
    return "torch" not in site.imported and not site.imported.isdisjoint({"jax", "jnp", "nnx", "linen", "eqx"})


def in_norm(site: Site) -> bool:
    """Say whether it is in a layer that divides by a spread: LayerNorm, RMSNorm, or handwritten standardising."""
    kind = owner(site)
    names = split_words(site.function.name) + (split_words(kind.name) if kind is not None else [])
    spread = mentions(site.function, "sqrt", "rsqrt", "std", "var", "variance", "rms", "sigma")
    is_norm = any("norm" in word or word.startswith("standard") for word in names)
    return is_norm or (spread and mentions(site.function, "eps", "epsilon", "gamma") and not in_optimiser(site))


def in_optimiser(site: Site) -> bool:
    """Say whether it is in a step of a handwritten optimiser."""
    kind = owner(site)
    names = split_words(site.function.name) + (split_words(kind.name) if kind is not None else [])
    telling = {"adam", "adamw", "sgd", "momentum", "rmsprop", "adagrad", "optimizer", "optimiser", "lion"}
    return not telling.isdisjoint(names) or mentions(site.function, "momentum", "betas", "beta1", "beta2", "exp_avg")


# --- what a node is ---------------------------------------------------------------------------------------------------


def number(node: ast.AST | None) -> float | int | None:
    """Return the value of a literal number, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


def is_library(site: Site, node: ast.AST) -> bool:
    """Say whether it is a module that the file imports, or something in it: `torch`, `np.linalg`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in site.imported


def is_method(site: Site, call: ast.Call) -> bool:
    """Say whether it is called on a value, not found in a module."""
    return isinstance(call.func, ast.Attribute) and not is_library(site, call.func.value)


def subject(site: Site, call: ast.Call) -> ast.expr | None:
    """Return what a call works on: `x` in `x.mean()` and in `torch.mean(x)`."""
    if isinstance(call.func, ast.Attribute) and is_method(site, call):
        return call.func.value
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def settings(site: Site, call: ast.Call) -> list[ast.expr]:
    """Return the positional arguments after the subject."""
    return call.args if is_method(site, call) else call.args[1:]


def keyword(call: ast.Call, *names: str) -> ast.keyword | None:
    return next((item for item in call.keywords if item.arg in names), None)


def axis_of(site: Site, call: ast.Call) -> ast.expr | None:
    """Return the axis that a call works along, if it is written there."""
    given = keyword(call, "dim", "axis")
    if given is not None:
        return given.value
    rest = settings(site, call)
    return rest[0] if rest and isinstance(number(rest[0]), int) else None


def is_matmul(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return called(node) in ("matmul", "bmm", "einsum", "dot")


def is_root(node: ast.AST) -> bool:
    """Say whether it is a square root, or one over it."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Pow) and number(node.right) in (0.5, -0.5)
    return called(node) in ("sqrt", "rsqrt", "sqrt_")


def is_eps(node: ast.AST) -> bool:
    """Say whether it is a small number that keeps a division or a logarithm finite."""
    value = number(node)
    return named(node, "eps", "epsilon") or (isinstance(value, float) and 0 < value <= 1e-4)


def is_sum(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def is_difference(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def is_product(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def is_quotient(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def is_plain(node: ast.AST) -> bool:
    """Say whether it is a name, an attribute, or an element of one."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return is_plain(node.value)
    return isinstance(node, ast.Name)


def is_complement(node: ast.AST | None) -> TypeGuard[ast.BinOp]:
    """Say whether it is like `1 - t`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and number(node.left) == 1


def sides(node: ast.BinOp) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each operand with the other one, the right operand first."""
    yield node.right, node.left
    yield node.left, node.right


def same(one: ast.AST, two: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(two)


def holds(node: ast.AST, name: str) -> bool:
    """Say whether the name occurs in a node."""
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(node))


# --- changes that several operators make ------------------------------------------------------------------------------


def resigned(site: Site, node: ast.BinOp, new: str) -> Edit | None:
    """Replace the sign of a sum, difference, product or quotient."""
    old = _SIGNS.get(type(node.op))
    return site.between(node.left, node.right, old, new) if old else None


def keep(site: Site, node: ast.expr, part: ast.expr) -> Edit:
    """Replace an expression by a part of itself."""
    return site.replace(node, site.text(part))


def shifted(site: Site, node: ast.expr, by: int) -> Edit | None:
    """Add `by`, 1 or -1, to a whole number or an expression for one."""
    value = number(node)
    if isinstance(value, int):
        return site.replace(node, str(value + by))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and number(node.right) == 1:
        step = 1 if isinstance(node.op, ast.Add) else -1
        if step == -by:
            return keep(site, node, node.left)
    return site.write(node, "{} + 1" if by > 0 else "{} - 1", node)


def from_one(site: Site, node: ast.expr) -> Edit:
    """Replace a range's length `n` by `1, n + 1`: it starts at one and is as long."""
    text = site.text(node)
    return Edit(*site.source.span(node), (f"1, {text} + 1", f"1, ({text}) + 1"))


def neighbour(axis: int) -> int:
    """Return another axis that probably exists: -2 for -1, 1 for 0."""
    return {-1: -2, -2: -1, 0: 1, 1: 0}.get(axis, axis - 1)


def is_question_of_none(node: ast.AST) -> bool:
    """Say whether it is like `x is None`: a wrong answer would only crash."""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)

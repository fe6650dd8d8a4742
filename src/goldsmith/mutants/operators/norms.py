"""Mistakes in norms and standardising: the axis, eps, the mean, the root, scale and shift."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    MEANS,
    SPREADS,
    axis_of,
    called,
    in_norm,
    in_optimiser,
    is_difference,
    is_eps,
    is_method,
    is_own,
    is_product,
    is_quotient,
    is_sum,
    keep,
    keyword,
    named,
    neighbour,
    number,
    owner,
    settings,
    sides,
    subject,
    uses_torch,
)
from goldsmith.mutants.operators.simple import rename_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit


@operator("norm-skipped", "a norm is left out", "norms", ast.Call)
def norm_skipped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    own = is_own(node.func) and "norm" in node.func.attr.lower() and len(node.args) == 1 and not node.keywords
    functional = not own and called(node) in ("layer_norm", "rms_norm", "batch_norm", "group_norm") and node.args
    if (own and not _brings_back(node.func.attr)) or (
        (functional or (called(node) == "normalize" and "F" in site.imported and node.args and not own))
        and not is_method(site, node)
    ):
        yield keep(site, node, node.args[0])


def _brings_back(name: str) -> bool:
    """Say whether it is one of a pair like `normalize` and `denormalize`, which policies.py mutates."""
    return "normali" in name


@operator("norm-over-wrong-axis", "mean or spread is taken over the wrong axis", "norms", ast.Call)
def norm_over_wrong_axis(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in MEANS | SPREADS or not in_norm(site):
        return
    axis = axis_of(site, site.node)
    value = number(axis)
    if axis is not None and isinstance(value, int):
        yield site.replace(axis, str(neighbour(value)))


rename_call("norm-sums", "a norm divides by a sum where a mean belongs", "norms", {"mean": "sum"}, where=in_norm)


@operator("norm-subtracts-mean", "the variance is taken where the mean square belongs", "norms", ast.Call)
def norm_subtracts_mean(site: Site) -> Iterator[Edit | None]:
    node = site.node
    squared = subject(site, node) if called(node) == "mean" and in_norm(site) else None
    base = _squared(squared)
    if base is None:
        return
    rest = [site.text(item) for item in (*settings(site, node), *node.keywords)]
    if uses_torch(site):
        rest.append("unbiased=False")
    if is_method(site, node):
        yield site.write(node, "{}.var(" + _escaped(", ".join(rest)) + ")", base)
    else:
        module = site.text(node.func.value) if isinstance(node.func, ast.Attribute) else "np"
        yield site.replace(node, f"{module}.var({', '.join([site.text(base), *rest])})")


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _squared(node: ast.expr | None) -> ast.expr | None:
    """Return `x` in `x ** 2`, `x * x`, `x.pow(2)` and `x.square()`."""
    if isinstance(node, ast.BinOp):
        power = isinstance(node.op, ast.Pow) and number(node.right) == 2
        twice = isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right)
        return node.left if (power or twice) and isinstance(node.left, ast.Name) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        whole = (called(node) == "pow" and node.args and number(node.args[0]) == 2) or called(node) == "square"
        inner = node.func.value if whole else None
        return inner if isinstance(inner, ast.Name) and inner.id not in ("torch", "np", "jnp") else None
    return None


@operator("mean-not-subtracted", "the mean is not subtracted", "norms", ast.BinOp)
def mean_not_subtracted(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not is_difference(node):
        return
    right = node.right.func if isinstance(node.right, ast.Call) else node.right
    if named(right, "mean", "mu", "means", "avg", "average", "center", "centre"):
        yield keep(site, node, node.left)


@operator("eps-outside-root", "eps is added outside the root", "norms", ast.Call, ast.BinOp)
def eps_outside_root(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        power = number(node.right) if isinstance(node.op, ast.Pow) else None
        split = _eps_and_rest(node.left) if power in (0.5, -0.5) else None
        if split is not None:
            template = "{} ** 0.5 + {}" if power == 0.5 else "1 / ({} ** 0.5 + {})"
            yield site.write(node, template, split[1], split[0])
        return
    inner = subject(site, node) if called(node) in ("sqrt", "rsqrt") else None
    split = _eps_and_rest(inner)
    if split is None:
        return
    eps, rest = split
    if is_method(site, node):
        template = "{}.sqrt() + {}" if called(node) == "sqrt" else "1 / ({}.sqrt() + {})"
        yield site.write(node, template, rest, eps)
    else:
        template = "{}({}) + {}" if called(node) == "sqrt" else "1 / ({}({}) + {})"
        yield site.write(node, template, site.text(node.func).removesuffix(called(node)) + "sqrt", rest, eps)


def _eps_and_rest(node: ast.expr | None) -> tuple[ast.expr, ast.expr] | None:
    if not isinstance(node, ast.BinOp) or not is_sum(node):
        return None
    return next(((part, other) for part, other in sides(node) if is_eps(part)), None)


@operator("eps-missing", "eps is left out", "norms", ast.BinOp, ast.Call)
def eps_missing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        split = _eps_and_rest(node)
        if split is not None:
            yield keep(site, node, split[1])
    elif called(node) in ("add", "add_") and is_method(site, node) and len(node.args) == 1 and is_eps(node.args[0]):
        yield keep(site, node, node.func.value)


@operator("eps-wrong", "eps is of another size", "norms", ast.BinOp, ast.Call)
def eps_wrong(site: Site) -> Iterator[Edit | None]:
    if isinstance(site.node, ast.BinOp):
        split = _eps_and_rest(site.node)
        eps = split[0] if split is not None else None
    else:
        added = called(site.node) in ("add", "add_") and len(site.node.args) == 1 and is_eps(site.node.args[0])
        eps = site.node.args[0] if added else None
    if eps is not None:
        known = number(eps) or _default_of_eps(site)
        usual = "1e-6" if in_optimiser(site) else "1e-5"
        yield site.replace(eps, usual if known is None or abs(known) != float(usual) else "1e-3")


def _default_of_eps(site: Site) -> float | None:
    """Return the default value of eps in the class, or in the function itself."""
    for item in ast.walk(owner(site) or site.function):
        if isinstance(item, ast.arguments):
            given = [*item.posonlyargs, *item.args]
            pairs = [
                *zip(given[::-1], item.defaults[::-1], strict=False),
                *zip(item.kwonlyargs, item.kw_defaults, strict=True),
            ]
            for name, default in pairs:
                if "eps" in name.arg and number(default) is not None:
                    return number(default)
    return None


@operator("scale-not-applied", "the norm's scale is not applied", "norms", ast.BinOp)
def scale_not_applied(site: Site) -> Iterator[Edit | None]:
    if is_product(site.node) and in_norm(site):
        for part, other in sides(site.node):
            if (is_own(part) and named(part, "weight", "gamma", "scale", "g", "gain")) or (
                isinstance(part, ast.Name) and named(part, "weight", "gamma", "gain")
            ):
                yield keep(site, site.node, other)


@operator("shift-not-applied", "the norm's shift is not applied", "norms", ast.BinOp)
def shift_not_applied(site: Site) -> Iterator[Edit | None]:
    if is_sum(site.node) and in_norm(site):
        for part, other in sides(site.node):
            if (is_own(part) or isinstance(part, ast.Name)) and named(part, "bias", "beta", "shift", "b"):
                yield keep(site, site.node, other)


@operator("root-left-out", "the root is left out", "norms", ast.Call, ast.BinOp)
def root_left_out(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow) and number(node.right) in (0.5, -0.5):
            yield keep(site, node, node.left) if number(node.right) == 0.5 else site.write(node, "1 / {}", node.left)
        return
    inner = subject(site, node) if called(node) in ("sqrt", "rsqrt") else None
    if inner is not None:
        yield keep(site, node, inner) if called(node) == "sqrt" else site.write(node, "1 / {}", inner)


@operator("root-inverted-twice", "the inverse root is inverted once more", "norms", ast.BinOp)
def root_inverted_twice(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if is_product(node) and called(node.right) == "rsqrt":
        yield site.between(node.left, node.right, "*", "/")
    elif is_quotient(node) and isinstance(node.right, ast.Call) and called(node.right) == "sqrt":
        function = node.right.func
        if uses_torch(site) and isinstance(function, ast.Attribute) and not named(function.value, "math", "np"):
            yield site.replace(function, f"{site.text(function.value)}.rsqrt")


@operator(
    "spread-of-other-kind", "a spread divides by n where n - 1 belongs, or the other way round", "norms", ast.Call
)
def spread_of_other_kind(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) not in SPREADS or not isinstance(node.func, ast.Attribute):
        return
    given = keyword(node, "unbiased", "correction", "ddof")
    if given is not None:
        old = given.value.value if isinstance(given.value, ast.Constant) else None
        if isinstance(old, bool):
            yield site.replace(given.value, str(not old))
        elif isinstance(old, int):
            yield site.replace(given.value, str(1 - old) if old in (0, 1) else str(old - 1))
    elif _is_numpy(site, node):
        yield site.argument(node, "ddof=1")
    elif keyword(node, "dim") is not None or settings(site, node):
        yield site.argument(node, "unbiased=False")
    else:
        yield site.argument(node, "correction=0")


def _is_numpy(site: Site, call: ast.Call) -> bool:
    if not is_method(site, call):
        return named(call.func.value, "np", "numpy", "jnp")  # type: ignore[attr-defined]
    return keyword(call, "axis", "keepdims") is not None or not uses_torch(site)

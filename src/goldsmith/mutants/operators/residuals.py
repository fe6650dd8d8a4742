"""Mistakes with residual connections, and with which layer is applied to what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    constructors,
    holds,
    is_own,
    is_sum,
    keep,
    named,
    records_gradients,
    resigned,
    sides,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit


def _residual(node: ast.AST) -> tuple[ast.Name, ast.expr] | None:
    """Return `x` and the call that is added to it, where that is computed from `x`."""
    if isinstance(node, ast.BinOp) and is_sum(node):
        for branch, stream in sides(node):
            if isinstance(stream, ast.Name) and isinstance(branch, ast.Call) and _computed_from(branch, stream.id):
                return stream, branch
    return None


def _computed_from(node: ast.expr, name: str) -> bool:
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Call)]
    return any(holds(argument, name) for call in calls for argument in call.args)


def _grows(node: ast.AST) -> bool:
    """Say whether it is like `x += self.attention(x)`."""
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.target, ast.Name)
        and _computed_from(node.value, node.target.id)
    )


@operator("residual-dropped", "the residual is not added", "residuals", ast.BinOp, ast.AugAssign)
def residual_dropped(site: Site) -> Iterator[Edit | None]:
    if found := _residual(site.node):
        yield keep(site, site.node, found[1])
    elif _grows(site.node):
        yield site.between(site.node.target, site.node.value, "+=", "=")


@operator("branch-dropped", "only the residual is left", "residuals", ast.BinOp, ast.AugAssign)
def branch_dropped(site: Site) -> Iterator[Edit | None]:
    if found := _residual(site.node):
        yield keep(site, site.node, found[0])
    elif _grows(site.node):
        yield site.drop(site.node)


@operator("residual-sign", "the branch is subtracted from the residual", "residuals", ast.BinOp, ast.AugAssign)
def residual_sign(site: Site) -> Iterator[Edit | None]:
    if _residual(site.node):
        yield resigned(site, site.node, "-")
    elif _grows(site.node):
        yield site.between(site.node.target, site.node.value, "+=", "-=")


@operator("residual-detached", "no gradient flows through the residual", "residuals", ast.BinOp)
def residual_detached(site: Site) -> Iterator[Edit | None]:
    if (found := _residual(site.node)) and records_gradients(site):
        yield site.write(found[0], "{}.detach()", found[0])


@operator("branch-detached", "no gradient flows through the branch", "residuals", ast.BinOp, ast.AugAssign)
def branch_detached(site: Site) -> Iterator[Edit | None]:
    if not records_gradients(site):
        return
    if found := _residual(site.node):
        yield site.write(found[1], "{}.detach()", found[1])
    elif _grows(site.node):
        yield site.write(site.node.value, "{}.detach()", site.node.value)


@operator("residual-after-norm", "the residual is taken after the norm, not before it", "residuals", ast.BinOp)
def residual_after_norm(site: Site) -> Iterator[Edit | None]:
    found = _residual(site.node)
    for item in ast.walk(found[1]) if found else ():
        if (
            isinstance(item, ast.Call)
            and is_own(item.func)
            and "norm" in called(item).lower()
            and found
            and len(item.args) == 1
            and ast.dump(item.args[0]) == ast.dump(found[0])
        ):
            yield site.replace(found[0], site.text(item))
            return


@operator("layer-skipped", "a layer is skipped", "residuals", ast.Call)
def layer_skipped(site: Site) -> Iterator[Edit | None]:
    """Not where the layer changes shapes: that would only crash."""
    node = site.node
    if not is_own(node.func) or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return
    made = constructors(site).get(node.func.attr)
    if called(made) in ("Embedding", "Flatten", "Conv2d", "ModuleList") or isinstance(site.parent, ast.Expr):
        return
    if (
        made is not None
        and called(made) == "Linear"
        and len(made.args) >= 2
        and ast.dump(made.args[0]) != ast.dump(made.args[1])
    ):
        return
    if not named(
        node.func, "embed", "embedding", "embeddings", "emb", "head", "tokenizer", "encoder", "decoder", "patches"
    ):
        yield keep(site, node, node.args[0])


@operator("layer-used-twice", "a layer is used in place of another one of its kind", "residuals", ast.Attribute)
def layer_used_twice(site: Site) -> Iterator[Edit | None]:
    if not (site.is_called and is_own(site.node)):
        return
    layers = constructors(site)
    mine = layers.get(site.node.attr)
    alike = [name for name, made in layers.items() if mine is not None and ast.dump(made) == ast.dump(mine)]
    if len(alike) > 1:
        yield site.rename(alike[(alike.index(site.node.attr) + 1) % len(alike)])


@operator("norm-behind", "the norm comes after the residual is added, not before the branch", "residuals", ast.BinOp)
def norm_behind(site: Site) -> Iterator[Edit | None]:
    found = _residual(site.node)
    for item in ast.walk(found[1]) if found else ():
        if (
            found
            and isinstance(item, ast.Call)
            and is_own(item.func)
            and "norm" in called(item).lower()
            and len(item.args) == 1
            and ast.dump(item.args[0]) == ast.dump(found[0])
        ):
            whole, norm, stream = site.text(site.node), site.text(item), site.text(found[0])
            yield site.replace(site.node, f"{site.text(item.func)}({whole.replace(norm, stream, 1)})")
            return


@operator("layer-detached", "no gradient flows through a layer", "residuals", ast.Assign)
def layer_detached(site: Site) -> Iterator[Edit | None]:
    """Not right before the end: with no gradient left at all, training would only crash."""
    value = site.node.value
    if not isinstance(value, ast.Call) or not value.args or not is_own(value.func):
        return
    last = getattr(site.parent, "body", [site.node])[-2:]
    at_end = site.node in last and isinstance(last[-1], ast.Return)
    recorded = records_gradients(site) and not any(isinstance(item, ast.With) for item in site.ancestors)
    if value.func.attr in constructors(site) and recorded and not at_end:
        yield site.write(value, "{}.detach()", value)


@operator("last-layer-left-out", "the last of several layers is left out", "residuals", ast.For)
def last_layer_left_out(site: Site) -> Iterator[Edit | None]:
    layers = site.node.iter
    if is_own(layers) and called(constructors(site).get(layers.attr)) in ("ModuleList", "Sequential"):
        yield site.write(layers, "{}[:-1]", layers)

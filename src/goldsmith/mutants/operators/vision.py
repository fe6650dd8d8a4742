"""Mistakes with images: the order of axes, patches and tokens, and which weights are frozen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import called, is_method, is_own, number, subject, uses_torch
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_JOINS = ("cat", "concat", "concatenate", "hstack", "vstack", "stack", "column_stack")


def _order(site: Site, call: ast.Call) -> list[ast.expr]:
    """Return the axes that a call of `permute` or `transpose` lists, if there are four or more."""
    if called(call) not in ("permute", "transpose"):
        return []
    rest = call.args if is_method(site, call) else call.args[1:]
    if len(rest) == 1 and isinstance(rest[0], ast.Tuple | ast.List):
        rest = rest[0].elts
    return rest if len(rest) >= 4 and all(isinstance(number(item), int) for item in rest) else []


@operator("axes-permuted", "axes are put into another order", "vision", ast.Call)
def axes_permuted(site: Site) -> Iterator[Edit | None]:
    """Rows for columns: of the patches, then of the pixels in each."""
    axes = _order(site, site.node)
    if len(axes) >= 5:
        yield site.swap(axes[1], axes[2])
    if axes:
        yield site.swap(axes[-2], axes[-1])


@operator(
    "channels-last", "channels come last where they should come first, or the other way round", "vision", ast.Call
)
def channels_last(site: Site) -> Iterator[Edit | None]:
    axes = _order(site, site.node)
    values = [site.text(item) for item in axes]
    if len(axes) == 6 and "1" in values[2:]:
        at = values.index("1")
        moved = [item for item in values if item != "1"]
        moved.insert(3 if at == 5 else 5, "1")
        start, end = site.source.span(axes[0])[0], site.source.span(axes[-1])[1]
        yield Edit(start, end, (", ".join(moved),))


@operator(
    "patches-cut-crosswise", "patches are cut as if a grid's size and a patch's were exchanged", "vision", ast.Call
)
def patches_cut_crosswise(site: Site) -> Iterator[Edit | None]:
    call = site.node
    if called(call) not in ("view", "reshape") or len(call.args) < 5:
        return
    texts, found, at = [site.text(item) for item in call.args], 0, 0
    while at + 1 < len(texts):
        if re.fullmatch(rf".+ // {re.escape(texts[at + 1])}", texts[at]):
            texts[at], texts[at + 1] = texts[at + 1], texts[at]
            found, at = found + 1, at + 1
        at += 1
    if found == 2:
        start, end = site.source.span(call.args[0])[0], site.source.span(call.args[-1])[1]
        yield Edit(start, end, (", ".join(texts),))


@operator("rearranged-otherwise", "the pattern of a rearrangement joins axes in another order", "vision", ast.Call)
def rearranged_otherwise(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in ("rearrange", "Rearrange"):
        return
    for item in site.node.args:
        if isinstance(item, ast.Constant) and isinstance(item.value, str) and "->" in item.value:
            left, arrow, right = item.value.rpartition("->")
            for group in re.finditer(r"\((\w+) (\w+)([^()]*)\)", right):
                swapped = f"{right[: group.start()]}({group[2]} {group[1]}{group[3]}){right[group.end() :]}"
                yield site.replace(item, site.text(item)[0] + left + arrow + swapped + site.text(item)[-1])


@operator("joined-in-other-order", "parts are joined in another order", "vision", ast.Call)
def joined_in_other_order(site: Site) -> Iterator[Edit | None]:
    if called(site.node) not in _JOINS or not site.node.args:
        return
    parts = site.node.args[0]
    if isinstance(parts, ast.List | ast.Tuple) and len(parts.elts) >= 2:
        yield site.swap(parts.elts[0], parts.elts[1])


@operator("not-frozen", "what should be frozen is trained", "vision", ast.Assign, ast.Call, ast.Expr)
def not_frozen(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and _is_false(node.value):
            yield site.replace(node.value, "True")
    elif isinstance(node, ast.Expr):
        if "freeze" in called(node.value) and "unfreeze" not in called(node.value):
            yield site.drop(node)
    elif called(node) == "requires_grad_" and len(node.args) == 1 and _is_false(node.args[0]):
        yield site.replace(node.args[0], "True")


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@operator("flattened-in-other-order", "an array is flattened column by column", "vision", ast.Call)
def flattened_in_other_order(site: Site) -> Iterator[Edit | None]:
    call = site.node
    flat = called(call) in ("flatten", "ravel", "reshape") and not uses_torch(site) and not call.keywords
    if flat and subject(site, call) is not None and [number(item) for item in call.args] not in ([-1, 1], [1, -1]):
        yield site.argument(call, 'order="F"')


@operator(
    "class-token-without-position", "positions are added to patches only, not to the class token", "vision", ast.BinOp
)
def class_token_without_position(site: Site) -> Iterator[Edit | None]:
    joined, added = site.node.left, site.node.right
    if not isinstance(site.node.op, ast.Add) or called(joined) not in ("cat", "concat", "concatenate"):
        return
    parts = joined.args[0] if joined.args else None
    if isinstance(parts, ast.List | ast.Tuple) and len(parts.elts) == 2 and is_own(added):
        patches = parts.elts[1]
        start, end = site.source.span(patches)[1], site.source.span(joined)[1]
        rest = site.source.content[start:end].decode("utf-8")
        text = f"{site.text(joined)[: -len(rest)]} + {site.text(added)}[:, 1:]{rest}"
        yield site.replace(site.node, text)


@operator("flattened-crosswise", "axes are flattened, or taken apart, in the other order", "vision", ast.Call)
def flattened_crosswise(site: Site) -> Iterator[Edit | None]:
    call = site.node
    if not uses_torch(site) or not isinstance(call.func, ast.Attribute) or not is_method(site, call):
        return
    if called(call) == "flatten" and [number(item) for item in call.args] == [1]:
        yield site.write(call, "{}.transpose(1, 2).flatten(1)", call.func.value)
    elif (
        called(call) in ("view", "reshape")
        and len(call.args) == 3
        and number(call.args[0]) == -1
        and number(call.args[1]) is None
        and number(call.args[2]) is None
    ):
        first, second = site.text(call.args[2]), site.text(call.args[1])
        yield site.replace(call, f"{site.text(call.func)}(-1, {first}, {second}).transpose(1, 2)")

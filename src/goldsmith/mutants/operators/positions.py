"""Mistakes with positions: rotary and sinusoidal embeddings, offsets, embeddings that are not added."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    around,
    called,
    from_one,
    identifier,
    is_sum,
    keep,
    mentions,
    named,
    number,
    resigned,
    same,
    sides,
    words,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_POSITIONS = ("pos", "position", "positions", "positional", "pe", "wpe")
_ROTARY = ("rope", "rotary", "rotate", "rotated")
_OFFSETS = ("offset", "pos", "position", "past", "cache", "cached", "start_pos")
_FREQUENCIES = ("sin", "cos", "freq", "freqs", "frequencies", "angles", "theta", *_ROTARY)


@operator(
    "positions-skipped", "positions are not brought in: the rotation is skipped", "positions", ast.Call, ast.Tuple
)
def positions_skipped(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Tuple):
        turned = [item for item in node.elts if isinstance(item, ast.Call) and item.args and named(item.func, *_ROTARY)]
        if turned and len(turned) == len(node.elts):
            yield site.replace(node, ", ".join(site.text(item.args[0]) for item in turned))
        return
    if not named(node.func, *_ROTARY, *_POSITIONS) or not node.args or isinstance(node.func, ast.Subscript):
        return
    target = site.parent.targets[0] if isinstance(site.parent, ast.Assign) else None
    if isinstance(target, ast.Tuple):
        if len(node.args) >= len(target.elts) and called(node) != "rotate_half":
            yield site.replace(node, ", ".join(site.text(item) for item in node.args[: len(target.elts)]))
    elif named(node.func, *_ROTARY) and mentions(node.args[0], "x", "q", "k", "query", "key", "queries", "keys"):
        yield keep(site, node, node.args[0])


@operator("positions-not-added", "the positional embedding is not added", "positions", ast.BinOp, ast.AugAssign)
def positions_not_added(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add) and _is_position(node.value):
            yield site.drop(node)
    elif is_sum(node):
        for position, other in sides(node):
            if _is_position(position) and number(other) is None:
                yield keep(site, node, other)
                return


def _is_position(node: ast.expr) -> bool:
    """Say whether it is a position embedding, an attribute or computed by a layer; not a count such as `pos`."""
    made = node.func if isinstance(node, ast.Call) else node
    kept = isinstance(made, ast.Attribute | ast.Subscript | ast.Call) or named(made, "emb", "embed", "embedding", "pe")
    return kept and named(made, *_POSITIONS)


@operator(
    "pairs-mixed-up",
    "rotary pairs are neighbours where halves belong, or the other way round",
    "positions",
    ast.Call,
    ast.Subscript,
)
def pairs_mixed_up(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if not around(site, "sin", "cos", *_ROTARY):
        return
    if isinstance(node, ast.Call):
        if (
            called(node) == "chunk"
            and node.args
            and number(node.args[-1 if len(node.args) == 1 else 0]) == 2
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            x = site.text(node.func.value)
            yield site.replace(node, f"{x}[..., ::2], {x}[..., 1::2]")
        return
    last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if isinstance(last, ast.Slice) and number(last.step) == 2 and last.upper is None:
        x = site.text(node.value)
        start = f"{x}.shape[-1] // 2"
        half = f": {start}" if last.lower is None or number(last.lower) == 0 else f"{start} :"
        before = "".join(f"{site.text(item)}, " for item in node.slice.elts[:-1])
        yield site.replace(node, f"{x}[{before}{half}]")


@operator("sine-cosine-exchanged", "sine and cosine are exchanged", "positions", ast.List, ast.Tuple, ast.Attribute)
def sine_cosine_exchanged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Attribute):
        if site.is_called and node.attr in ("sin", "cos") and not _in_pair(site):
            yield site.rename("cos" if node.attr == "sin" else "sin")
    elif len(node.elts) == 2 and _is_pair(node) and not (isinstance(node, ast.Tuple) and _assigns_pair(site)):
        yield site.swap(*node.elts)


def _is_pair(node: ast.AST) -> bool:
    """Say whether it has two elements, a sine and a cosine."""
    parts = getattr(node, "elts", [])
    kinds = [{"sin", "cos"} & words(item) for item in parts]
    return len(parts) == 2 and {"sin"} in kinds and {"cos"} in kinds


def _assigns_pair(site: Site) -> bool:
    """Say whether it is the right side of `cos, sin = x.cos(), x.sin()`, where swapping the left side is enough."""
    return isinstance(site.parent, ast.Assign) and site.node is site.parent.value and _is_pair(site.parent.targets[0])


def _in_pair(site: Site) -> bool:
    return any(isinstance(item, ast.List | ast.Tuple) and _is_pair(item) for item in site.ancestors)


@operator("rotation-sign", "one half of the rotation has the wrong sign", "positions", ast.BinOp)
def rotation_sign(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.Add | ast.Sub):
        kinds = [{"sin", "cos"} & words(side) for side in (node.left, node.right)]
        if {"sin"} in kinds and {"cos"} in kinds:
            yield resigned(site, node, "-" if isinstance(node.op, ast.Add) else "+")


@operator("frequency-base", "the base of the frequencies is wrong", "positions", ast.Constant, ast.BinOp)
def frequency_base(site: Site) -> Iterator[Edit | None]:
    if not around(site, *_FREQUENCIES):
        return
    if isinstance(site.node, ast.Constant):
        value = number(site.node)
        if value is not None and value >= 1000:
            yield site.replace(site.node, f"{value / 10:.1f}" if isinstance(value, float) else str(value // 10))
    elif isinstance(site.node.op, ast.Pow) and named(site.node.left, "base", "theta"):
        yield site.replace(site.node.left, "500000.0")


@operator("frequency-spacing", "frequencies are spaced half as far apart as they should be", "positions", ast.Call)
def frequency_spacing(site: Site) -> Iterator[Edit | None]:
    node = site.node
    is_even = called(node) == "arange" and len(node.args) == 3
    if is_even and number(node.args[0]) == 0 and number(node.args[2]) == 2 and around(site, *_FREQUENCIES):
        (start, _), (_, end) = site.source.span(node.args[0]), site.source.span(node.args[2])
        width = site.text(node.args[1])
        yield Edit(start, end, (f"{width} // 2", f"({width}) // 2"))


@operator(
    "offset-ignored",
    "positions always start at zero, whatever came before",
    "positions",
    ast.Slice,
    ast.Call,
    ast.BinOp,
)
def offset_ignored(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.BinOp):
        if is_sum(node) and called(node.left) == "arange" and named(node.right, *_OFFSETS):
            yield keep(site, node, node.left)
        return
    if isinstance(node, ast.Call):
        lower, upper = node.args if called(node) == "arange" and len(node.args) == 2 else (None, None)
    else:
        lower, upper = node.lower, node.upper
    if lower is None or upper is None or not is_sum(upper) or not named(lower, *_OFFSETS):
        return
    rest = next((other for part, other in sides(upper) if same(part, lower)), None)
    if rest is not None:
        start, end = site.source.span(lower)[0], site.source.span(upper)[1]
        yield Edit(start, end, (site.text(rest) if isinstance(node, ast.Call) else f":{site.text(rest)}",))


@operator("positions-from-one", "positions are counted from one", "positions", ast.Call)
def positions_from_one(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if called(node) == "arange" and len(node.args) == 1 and number(node.args[0]) is None:
        target = site.statement.targets[0] if isinstance(site.statement, ast.Assign) else None
        near = {identifier(target)} if target is not None else set()
        if near & set(_POSITIONS) or any(named(item, *_POSITIONS) for item in site.ancestors) or _is_looked_up(site):
            yield from_one(site, node.args[0])


def _is_looked_up(site: Site) -> bool:
    """Say whether it is passed to a position embedding."""
    return any(isinstance(item, ast.Call) and named(item.func, *_POSITIONS) for item in site.ancestors)

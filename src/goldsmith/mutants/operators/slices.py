"""Off by one: slices, indices and ranges that begin or end one place away from the right one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import around, called, from_one, keep, mentions, number, shifted, subject
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit


@operator("slice-starts-beside", "a slice starts one place too early or too late", "slices", ast.Slice)
def slice_starts_beside(site: Site) -> Iterator[Edit | None]:
    """From the front one too early, from the back one too late."""
    start = site.node.lower
    if start is None or number(site.node.step) is not None or is_shift(site):
        return
    value = number(start)
    if value is None and isinstance(start, ast.UnaryOp):
        yield site.write(start, "{} + 1", start)
    elif value is None:
        yield shifted(site, start, -1)
    elif value == 1:
        yield Edit(*site.source.span(start), ("",))
    elif isinstance(value, int):
        yield site.replace(start, str(value + 1 if value <= 0 and value != -1 else value - 1))


@operator("slice-ends-beside", "a slice ends one place too early or too late", "slices", ast.Slice, ast.Call)
def slice_ends_beside(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Call):
        if called(node) == "slice" and len(node.args) >= 2:
            yield shifted(site, node.args[1], -1)
        return
    end = node.upper
    if end is None or is_shift(site) or mentions(site.statement, "sin", "cos"):
        return
    value = number(end)
    if value is None:
        yield shifted(site, end, -1)
    elif value == -1:
        yield Edit(*site.source.span(end), ("",))
    elif isinstance(value, int):
        yield site.replace(end, str(value - 1 if value < 0 else value + 1))


def is_shift(site: Site) -> bool:
    """Say whether it is all but the first or last, near a loss: there the mistake is the other side."""
    node = site.node
    beside = (number(node.lower), number(node.upper)) in ((1, None), (None, -1))
    return beside and around(site, "loss", "entropy", "nll", "targets", "target", "labels", "logits")


@operator("slice-takes-the-others", "every other element is taken from the wrong start", "slices", ast.Slice)
def slice_takes_the_others(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if number(node.step) != 2 or node.upper is not None:
        return
    if number(node.lower) == 1:
        yield Edit(*site.source.span(node), ("::2",))
    elif node.lower is None or number(node.lower) == 0:
        yield Edit(*site.source.span(node), ("1::2",))


@operator("not-reversed", "the order is not reversed", "slices", ast.Subscript, ast.Call)
def not_reversed(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Subscript):
        part = node.slice
        if isinstance(part, ast.Slice) and (part.lower, part.upper, number(part.step)) == (None, None, -1):
            yield keep(site, node, node.value)
    elif called(node) in ("reversed", "flip", "flipud", "fliplr"):
        inner = subject(site, node)
        if inner is not None:
            yield keep(site, node, inner)


@operator(
    "index-at-other-end", "the first element is taken for the last, or the other way round", "slices", ast.Subscript
)
def index_at_other_end(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "param_groups"):
        return
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for item in indices:
        if number(item) in (0, -1) and type(number(item)) is int:
            yield site.replace(item, "-1" if number(item) == 0 else "0")


@operator("range-ends-beside", "the last round is left out", "slices", ast.Call)
def range_ends_beside(site: Site) -> Iterator[Edit | None]:
    args = site.node.args
    if called(site.node) == "range" and args and len(args) <= 2:
        yield shifted(site, args[-1], -1)


@operator("range-starts-beside", "counting starts one place too early or too late", "slices", ast.Call)
def range_starts_beside(site: Site) -> Iterator[Edit | None]:
    args = site.node.args
    if called(site.node) not in ("range", "arange") or not args:
        return
    if len(args) > 1:
        if number(args[0]) in (0, 1):
            yield site.replace(args[0], "1" if number(args[0]) == 0 else "0")
    elif called(site.node) == "arange":
        looked_up = any(isinstance(item, ast.Subscript) for item in site.ancestors)
        yield from_one(site, args[0]) if number(args[0]) is None and not looked_up else None
    elif _is_counted(site):
        yield Edit(*site.source.span(args[0]), (f"1, {site.text(args[0])}",))


def _is_counted(site: Site) -> bool:
    """Say whether the loop's counter is read, so that its start matters, not only its end."""
    loop = site.parent
    if not isinstance(loop, ast.For | ast.comprehension) or not isinstance(loop.target, ast.Name):
        return False
    outer = loop if isinstance(loop, ast.For) else site.source.parents[loop]
    reads = [item for item in ast.walk(outer) if isinstance(item, ast.Name) and item.id == loop.target.id]
    return len(reads) > 1


@operator(
    "order-ignored", "things are taken in their old order, not in the one that was drawn", "slices", ast.Subscript
)
def order_ignored(site: Site) -> Iterator[Edit | None]:
    inner = site.node.slice
    if (
        isinstance(inner, ast.Subscript)
        and isinstance(inner.value, ast.Name)
        and isinstance(inner.slice, ast.Name | ast.Slice)
    ):
        yield Edit(*site.source.span(inner), (site.text(inner.slice),))

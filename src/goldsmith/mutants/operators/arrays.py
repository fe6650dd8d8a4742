"""Mistakes with arrays, in NumPy and torch alike: axes, reductions, dtypes, order, products of matrices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    around,
    axis_of,
    called,
    in_shape,
    is_difference,
    is_library,
    is_method,
    is_plain,
    keep,
    keyword,
    named,
    neighbour,
    number,
    same,
    sides,
    subject,
    uses_torch,
)
from goldsmith.mutants.operators.simple import both_ways, rename_call, unwrap_call
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_ALONG = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "std", "var", "prod", "any", "all"}
    | {"median", "cumsum", "cumprod", "sort", "argsort", "norm", "diff", "flip", "logsumexp", "count_nonzero"}
    | {"nansum", "nanmean", "stack", "quantile", "percentile", "average", "ptp", "normalize"}
)
_SQUARE = ("rotation", "rotate", "rot", "transform", "kalman", "covariance", "cov", "pose", "homography", "similarity")
_SUMS = {"mean": "sum", "nanmean": "nansum"}
_EXTREMES = {"max": "min", "argmax": "argmin", "maximum": "minimum", "amax": "amin", "nanmax": "nanmin"}
_EXTREMES |= {"cummax": "cummin", "clamp_min": "clamp_max", "nanargmax": "nanargmin"}
_SPREADS = both_ways({"std": "var", "nanstd": "nanvar"})
_OTHER_EXTREME = both_ways(_EXTREMES)
_NARROWER = {"float64": "float32", "float32": "float16", "double": "float", "int64": "int32", "complex128": "complex64"}
_NARROWER |= {"longdouble": "float64", "float": "half"}


@operator("axis-changed", "an array is worked on along another axis", "arrays", ast.Call)
def axis_changed(site: Site) -> Iterator[Edit | None]:
    axis = axis_of(site, site.node) if called(site.node) in _ALONG else None
    value = number(axis)
    if axis is not None and isinstance(value, int):
        yield site.replace(axis, str(neighbour(value)))
    elif isinstance(axis, ast.Tuple) and len(axis.elts) > 1:
        rest = ", ".join(site.text(item) for item in axis.elts[:-1])
        yield site.replace(axis, rest if len(axis.elts) == 2 else f"({rest})")


@operator("axis-forgotten", "a whole array is reduced to one number, not each of its rows", "arrays", ast.Call)
def axis_forgotten(site: Site) -> Iterator[Edit | None]:
    """Only where the shape is kept: elsewhere it would nearly always crash."""
    node = site.node
    kept = keyword(node, "keepdims", "keepdim")
    axis = keyword(node, "axis")
    if kept is not None and axis is not None and called(node) in ("sum", "mean", "std", "var"):
        yield site.replace(axis.value, "None")


@operator("kept-axis-dropped", "a reduced axis is not kept, so that other axes are lined up", "arrays", ast.keyword)
def kept_axis_dropped(site: Site) -> Iterator[Edit | None]:
    value = site.node.value
    if site.node.arg in ("keepdim", "keepdims") and isinstance(value, ast.Constant) and value.value is True:
        yield site.replace(value, "False")


rename_call("sum-for-mean", "a sum is taken where a mean belongs", "arrays", _SUMS)


rename_call("mean-for-sum", "a mean is taken where a sum belongs", "arrays", {s: m for m, s in _SUMS.items()})


@operator("mean-for-median", "a mean is taken where a median belongs", "arrays", ast.Attribute)
def mean_for_median(site: Site) -> Iterator[Edit | None]:
    if site.is_called and site.node.attr == "median" and is_library(site, site.node.value):
        yield site.rename("mean")


@operator(
    "extremes-exchanged",
    "the smallest is taken for the largest, or the other way round",
    "arrays",
    ast.Attribute,
    ast.Name,
)
def extremes_exchanged(site: Site) -> Iterator[Edit | None]:
    if not site.is_called or _steadies(site):
        return
    name = site.node.attr if isinstance(site.node, ast.Attribute) else site.node.id
    other = _OTHER_EXTREME.get(name)
    if other is not None and (isinstance(site.node, ast.Attribute) or name in ("max", "min")):
        yield site.rename(other)


def _steadies(site: Site) -> bool:
    """Say whether it is `x - x.max()` before an exponential, where the subtracted value makes no difference."""
    outer = site.source.parents[site.parent]
    return is_difference(outer) and outer.right is site.parent and called(site.parent) in ("max", "amax")


rename_call("spreads-exchanged", "variance and standard deviation are exchanged", "arrays", _SPREADS)


@operator("any-for-all", "any is asked for all, or the other way round", "arrays", ast.Attribute, ast.Name)
def any_for_all(site: Site) -> Iterator[Edit | None]:
    name = site.node.attr if isinstance(site.node, ast.Attribute) else site.node.id
    if site.is_called and name in ("any", "all"):
        yield site.rename("all" if name == "any" else "any")


unwrap_call(
    "not-cumulated", "values are not added up one after the other", "arrays", ("cumsum", "cumprod", "logcumsumexp")
)


@operator("dtype-narrowed", "numbers are kept with fewer digits", "arrays", ast.Attribute)
def dtype_narrowed(site: Site) -> Iterator[Edit | None]:
    if not site.is_called and is_library(site, site.node.value) and site.node.attr in _NARROWER:
        yield site.rename(_NARROWER[site.node.attr])
    elif site.is_called and site.node.attr == "double" and not site.parent.args:
        yield site.rename("float")


@operator("dtype-of-whole-numbers", "numbers lose what comes after the point", "arrays", ast.Name)
def dtype_of_whole_numbers(site: Site) -> Iterator[Edit | None]:
    if site.node.id != "float" or site.is_called:
        return
    given = isinstance(site.parent, ast.keyword) and site.parent.arg == "dtype"
    if given or called(site.parent) in ("astype", "array", "asarray", "zeros", "ones", "empty", "full"):
        yield site.rename("int")


@operator("cast-missing", "numbers are not turned into another kind", "arrays", ast.Call)
def cast_missing(site: Site) -> Iterator[Edit | None]:
    name = called(site.node)
    if is_method(site, site.node) and (
        name == "astype" or (name in ("float", "double", "long") and not site.node.args)
    ):
        yield keep(site, site.node, site.node.func.value)


@operator("sorted-the-other-way", "things are sorted the other way round", "arrays", ast.Call)
def sorted_the_other_way(site: Site) -> Iterator[Edit | None]:
    node = site.node
    given = keyword(node, "descending", "reverse", "largest")
    if given is not None and isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool):
        yield site.replace(given.value, str(not given.value.value))
    elif called(node) == "sorted":
        yield site.argument(node, "reverse=True")
    elif called(node) == "topk":
        yield site.argument(node, "largest=False")
    elif called(node) == "argsort" and not isinstance(site.parent, ast.Subscript):
        inner = subject(site, node)
        if isinstance(inner, ast.UnaryOp):
            yield keep(site, inner, inner.operand)
        elif inner is not None:
            yield site.write(inner, "-{}", inner)


@operator("einsum-transposed", "einsum's result has its last two axes exchanged", "arrays", ast.Call)
def einsum_transposed(site: Site) -> Iterator[Edit | None]:
    pattern = site.node.args[0] if called(site.node) == "einsum" and site.node.args else None
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str) and "->" in pattern.value:
        written = site.text(pattern)
        result = pattern.value.rpartition("->")[2].strip()
        at = written.rfind(result)
        if len(result) >= 2 and result.isalpha() and written.count("->") == 1:
            swapped = result[:-2] + result[-1] + result[-2]
            yield site.replace(pattern, written[:at] + swapped + written[at + len(result) :])


@operator("product-in-other-order", "two matrices are multiplied in the other order", "arrays", ast.BinOp, ast.Call)
def product_in_other_order(site: Site) -> Iterator[Edit | None]:
    """NumPy only: between layers of a network it would nearly always crash."""
    if uses_torch(site):
        return
    node = site.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult) and (_is_gram(node) or around(site, *_SQUARE)):
            yield site.write(node, "{} @ {}", node.right, node.left)
    elif called(node) in ("dot", "matmul", "cross", "outer", "kron"):
        if len(node.args) == 2:
            yield site.swap(*node.args)
        elif is_method(site, node) and len(node.args) == 1 and is_plain(node.func.value):
            yield site.write(node, "{}." + called(node) + "({})", node.args[0], node.func.value)


def _is_gram(node: ast.BinOp) -> bool:
    """Say whether it is `X.T @ X`, whose shapes fit the other way round, too."""
    return any(isinstance(one, ast.Attribute) and one.attr == "T" and same(one.value, two) for one, two in sides(node))


@operator("transpose-missing", "a matrix is not transposed", "arrays", ast.Attribute)
def transpose_missing(site: Site) -> Iterator[Edit | None]:
    multiplied = isinstance(site.parent, ast.BinOp) and not around(site, *_SQUARE)
    if site.node.attr in ("T", "mT") and not uses_torch(site) and not multiplied:
        yield keep(site, site.node, site.node.value)


@operator("clamp-missing", "values are not kept within their bounds", "arrays", ast.Call)
def clamp_missing(site: Site) -> Iterator[Edit | None]:
    if called(site.node) in ("clip", "clamp", "clamp_min", "clamp_max") and not isinstance(site.parent, ast.Expr):
        inner = subject(site, site.node)
        if inner is not None:
            yield keep(site, site.node, inner)


@operator("stretched-along-other-axis", "an array is stretched along the other axis", "arrays", ast.Subscript, ast.Call)
def stretched_along_other_axis(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.Call):
        axis = node.args[-1] if called(node) in ("unsqueeze", "expand_dims") and node.args else None
        others = {1: "0", 0: "1", -1: "0"}
        if axis is not None and number(axis) in others:
            yield site.replace(axis, others[int(number(axis) or 0)])
    elif isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        new = [_is_new_axis(item) for item in node.slice.elts]
        if sorted(new) == [False, True] and any(isinstance(item, ast.Slice) for item in node.slice.elts):
            start, end = site.source.span(node.slice.elts[0])[0], site.source.span(node.slice.elts[1])[1]
            one, two = (site.text(item) for item in node.slice.elts)
            yield Edit(start, end, (f"{two}, {one}",))


def _is_new_axis(node: ast.AST) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or named(node, "newaxis")


@operator("length-of-other-axis", "the length of another axis is taken", "arrays", ast.Subscript, ast.Call)
def length_of_other_axis(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if in_shape(site):
        return
    if isinstance(node, ast.Subscript):
        value = number(node.slice) if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" else None
        if isinstance(value, int):
            yield site.replace(node.slice, str(neighbour(value)))
    elif called(node) == "size" and len(node.args) == 1 and isinstance(value := number(node.args[0]), int):
        yield site.replace(node.args[0], str(neighbour(value)))


@operator("copy-missing", "an array is not copied: what is written to it changes the original", "arrays", ast.Call)
def copy_missing(site: Site) -> Iterator[Edit | None]:
    name = called(site.node)
    if name in ("copy", "clone") and is_method(site, site.node) and not site.node.args:
        yield keep(site, site.node, site.node.func.value)
    elif name in ("deepcopy", "copy") and len(site.node.args) == 1:
        yield keep(site, site.node, site.node.args[0])

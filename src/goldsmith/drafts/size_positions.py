"""Find where in a function's source only a whole number is possible: in shapes, in `range`, as the bound of a slice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_SHAPES = frozenset(
    (
        *("randn", "rand", "zeros", "ones", "empty", "eye", "identity", "arange", "randperm", "standard_normal", "tri"),
        *("tril_indices", "triu_indices", "randint", "integers", "ndindex"),
    )
)
"""Functions whose positional arguments are all sizes."""
_LATER = {"full": slice(0, 1), "linspace": slice(2, None), "normal": slice(2, None), "uniform": slice(2, None)}
"""Functions of whose arguments only these are sizes."""
_METHODS = frozenset(
    (
        *("reshape", "view", "expand", "repeat", "tile", "unflatten", "new_zeros", "new_ones", "new_empty"),
        *("topk", "chunk", "repeat_interleave", "one_hot", "broadcast_to"),
    )
)
"""Methods of an array whose arguments are sizes; as functions, those after the array."""
_LAYER = re.compile(r"(Lazy)?(Linear|Bilinear|Conv\w*|Embedding\w*|\w+Norm\w*|RNN|LSTM|GRU|\w+Cell|MultiheadAttention)")
_KEYWORDS = frozenset(("size", "shape", "num_classes", "minlength", "in_features", "out_features", "num_embeddings"))
_LIBRARIES = frozenset(("torch", "np", "numpy", "jnp", "jax", "F", "nn", "init"))


def names_of_sizes(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node uses as whole numbers."""
    if isinstance(node, ast.Call):
        for item in _sizes_in_call(node):
            yield from _names_in(item)
    elif isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper, node.step):
            yield from _names_in(bound) if bound is not None else ()
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.FloorDiv):
            yield from _names_in(node.right)
        elif isinstance(node.op, ast.Mult):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, ast.List | ast.Tuple):
                    yield from _names_in(other)
    elif isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp) and isinstance(node.test, ast.Compare):
        sides = [node.test.left, *node.test.comparators]
        if any(isinstance(side, ast.Constant) and type(side.value) is int for side in sides):
            yield from (side.id for side in sides if isinstance(side, ast.Name))


def _sizes_in_call(node: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call that are sizes, or shapes made of them."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    named = [item.value for item in node.keywords if item.arg in _KEYWORDS]
    if name == "range" or name in _SHAPES:
        return [*node.args, *named]
    if _LAYER.fullmatch(name):
        return [*node.args, *(item.value for item in node.keywords)]
    if name in _LATER:
        return [*node.args[_LATER[name]], *named]
    if name in _METHODS:
        of_library = isinstance(function, ast.Name) or _root(function) in _LIBRARIES
        return [*node.args[1 if of_library else 0 :], *named]
    return named


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _names_in(node: ast.expr) -> Iterator[str]:
    """Yield names used in arithmetic; calls are not entered, except `int`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp):
        yield from (*_names_in(node.left), *_names_in(node.right))
    elif isinstance(node, ast.UnaryOp):
        yield from _names_in(node.operand)
    elif isinstance(node, ast.Starred):
        return
    elif isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from _names_in(item)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int":
        for item in node.args:
            yield from _names_in(item)

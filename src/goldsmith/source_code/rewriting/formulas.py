"""Rewrites of formulas: sums and products in another order, and operations by others that mean the same."""

from __future__ import annotations

import ast
from collections.abc import Callable

from goldsmith.source_code.rewriting.runtime_helpers import NEEDS
from goldsmith.source_code.rewriting.surroundings import Function, Surroundings

Change = Callable[[ast.AST, Surroundings], ast.expr | None]
Choose = Callable[[ast.AST], bool]

_LEFT_ALONE = (ast.Assert, ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFunctionDef)
_ROUNDS_DOWN = frozenset(
    ("floor", "ceil", "round", "trunc", "int", "long", "astype", "digitize", "bucketize", "searchsorted", "argsort")
)
_OPEN_SIGNS = frozenset(("svd", "eigh", "qr"))
_METHODS = frozenset(("exp", "log", "sqrt", "sigmoid", "tanh", "sin", "cos", "abs", "rsqrt", "square", "relu"))


class _Expressions(ast.NodeTransformer):
    """Apply `change` to expressions of a body, innermost first, where `choose` agrees."""

    def __init__(self, change: Change, around: Surroundings, choose: Choose) -> None:
        self._change, self._around, self._choose = change, around, choose

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, _LEFT_ALONE):
            return node
        if isinstance(node, ast.FunctionDef):
            node.body = [self.visit(item) for item in node.body]  # type: ignore[misc]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = self.visit(node.value) if node.value is not None else None  # type: ignore[assignment]
            return node
        self.generic_visit(node)
        if not isinstance(node, ast.expr):
            return node
        before = set(self._around.helpers)
        changed = self._change(node, self._around)
        if changed is None or not self._choose(node):
            self._around.helpers = before
            return node
        _with_needs(self._around)
        return ast.copy_location(changed, node)


def _with_needs(around: Surroundings) -> None:
    pending = list(around.helpers)
    while pending:
        for other in NEEDS[pending.pop()]:
            if other not in around.helpers:
                around.helpers.add(other)
                pending.append(other)


def _everywhere(change: Change) -> Callable[[Function, Surroundings, Choose], None]:
    def apply(function: Function, around: Surroundings, choose: Choose) -> None:
        _Expressions(change, around, choose).visit(function)

    return apply


def _except_where_rounding_decides(change: Change) -> Callable[[Function, Surroundings, Choose], None]:
    """Leave functions alone that turn numbers into whole ones: the last bit may decide which."""
    plain = _everywhere(change)

    def apply(function: Function, around: Surroundings, choose: Choose) -> None:
        names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(function)}
        if not names & _ROUNDS_DOWN and not any(isinstance(node, ast.FloorDiv) for node in ast.walk(function)):
            plain(function, around, choose)

    return apply


def _binary(kind: type[ast.operator], helper: str) -> Change:
    def change(node: ast.AST, around: Surroundings) -> ast.expr | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, kind) and not _is_text(node.left, node.right):
            return ast.Call(around.helper(helper), [node.left, node.right], [])
        return None

    return change


def _is_text(*nodes: ast.expr) -> bool:
    literal = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr)
    return any(isinstance(it, literal) or isinstance(getattr(it, "value", None), str | bytes) for it in nodes)


def _product_in_halves(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        arguments = ast.arguments([], [ast.arg("a"), ast.arg("b")], None, [], [], None, [])
        a, b = (ast.Name(name, ast.Load()) for name in ("a", "b"))
        multiply = ast.Lambda(arguments, ast.BinOp(a, ast.MatMult(), b))
        return ast.Call(around.helper("_product_in_halves"), [multiply, node.left, node.right], [])
    if _is_function(node, around, ("matmul", "dot", "bmm"), 2):
        assert isinstance(node, ast.Call)
        if getattr(node.func, "attr", "") == "dot":  # of more than two axes it is another product
            return None
        return ast.Call(around.helper("_product_in_halves"), [node.func, *node.args], [])
    return None


def _is_function(node: ast.AST, around: Surroundings, names: tuple[str, ...], count: int) -> bool:
    """Say whether a node is a call of a library's function with so many arguments, all by position."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and bool(around.library_of(node.func.value))
        and len(node.args) == count
        and not node.keywords
        and not any(isinstance(item, ast.Starred) for item in node.args)
    )


def _reduction(name: str, helper: str) -> Change:
    def change(node: ast.AST, around: Surroundings) -> ast.expr | None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name):
            return None
        if any(item.arg is None for item in node.keywords) or any(isinstance(it, ast.Starred) for it in node.args):
            return None
        if around.library_of(node.func.value):
            return ast.Call(around.helper(helper), [node.func, *node.args], node.keywords) if node.args else None
        method = around.helper(f"_{name}_of")
        return ast.Call(around.helper(helper), [method, node.func.value, *node.args], node.keywords)

    return change


def _as_method(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if _is_function(node, around, tuple(_METHODS), 1):
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        if around.library_of(node.func.value) == "torch":
            return ast.Call(ast.Attribute(node.args[0], node.func.attr, ast.Load()), [], [])
    return None


def _root_as_power(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if _is_function(node, around, ("sqrt",), 1):
        assert isinstance(node, ast.Call)
        return ast.Call(around.helper("_root_as_power"), [node.func, *node.args], [])
    return None


def _where_not(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if _is_function(node, around, ("where",), 3):
        assert isinstance(node, ast.Call)
        return ast.Call(around.helper("_where_not"), [node.func, *node.args], [])
    return None


def _fill_where(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "masked_fill"
        and len(node.args) == 2
        and not node.keywords
    ):
        return ast.Call(around.helper("_fill_where"), [node.func.value, *node.args], [])
    return None


def _by_hand(name: str, helper: str, count: int = 0) -> Change:
    """Replace a function of torch's, or a tensor's method, that has the same name."""

    def change(node: ast.AST, around: Surroundings) -> ast.expr | None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name):
            return None
        library = around.library_of(node.func.value)
        if not library.startswith("torch") or (count and (len(node.args) != count or node.keywords)):
            return None
        return ast.Call(around.helper(helper), [node.func, *node.args], node.keywords)

    return change


def _factors_negated(node: ast.AST, around: Surroundings) -> ast.expr | None:
    """Negate both factors of a decomposition that leaves their signs open."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OPEN_SIGNS):
        return None
    if not around.library_of(node.func.value).endswith(".linalg"):
        return None
    return ast.Call(around.helper("_factors_negated"), [node.func, *node.args], node.keywords)


def _larger_swapped(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if _is_function(node, around, ("maximum", "minimum"), 2):
        assert isinstance(node, ast.Call)
        return ast.Call(node.func, node.args[::-1], [])
    return None


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def _comparison_turned(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
        return ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
    return None


def _choice_turned(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if isinstance(node, ast.IfExp):
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
    return None


def _list_of_generator(node: ast.AST, around: Surroundings) -> ast.expr | None:
    if isinstance(node, ast.ListComp) and not any(item.is_async for item in node.generators):
        if "list" in around.names and "list" in around.functions:
            return None
        return ast.Call(ast.Name("list", ast.Load()), [ast.GeneratorExp(node.elt, node.generators)], [])
    return None


def _named_arguments(node: ast.AST, around: Surroundings) -> ast.expr | None:
    """Pass arguments to the file's own functions by name, all but the first."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in around.functions):
        return None
    arguments = around.functions[node.func.id].args
    names = [item.arg for item in arguments.args]
    if arguments.posonlyargs or arguments.vararg or any(isinstance(item, ast.Starred) for item in node.args):
        return None
    if len(node.args) < 2 or len(node.args) > len(names):
        return None
    given = [ast.keyword(name, value) for name, value in zip(names[1:], node.args[1:], strict=False)]
    return ast.Call(node.func, node.args[:1], [*given, *node.keywords])


REWRITES: dict[str, tuple[str, Callable[[Function, Surroundings, Choose], None]]] = {
    "sum-swapped": ("b + a for a + b", _everywhere(_binary(ast.Add, "_swapped_sum"))),
    "product-swapped": ("b * a for a * b", _everywhere(_binary(ast.Mult, "_swapped_product"))),
    "difference-as-sum": ("-b + a for a - b", _everywhere(_binary(ast.Sub, "_sum_with_negative"))),
    "reciprocal": (
        "a times the reciprocal of b for a / b",
        _except_where_rounding_decides(_binary(ast.Div, "_times_reciprocal")),
    ),
    "power-as-product": ("a product for a square or a cube", _everywhere(_binary(ast.Pow, "_power_by_products"))),
    "product-in-halves": (
        "a matrix product as the sum of two",
        _except_where_rounding_decides(_product_in_halves),
    ),
    "sum-backwards": (
        "a sum from the last element to the first",
        _except_where_rounding_decides(_reduction("sum", "_sum_backwards")),
    ),
    "mean-by-sum": (
        "a sum divided by its length for a mean",
        _except_where_rounding_decides(_reduction("mean", "_mean_by_sum")),
    ),
    "as-method": ("a tensor's method for a function", _everywhere(_as_method)),
    "root-as-power": ("a power for a square root", _except_where_rounding_decides(_root_as_power)),
    "where-not": ("where with the opposite condition", _everywhere(_where_not)),
    "fill-by-where": ("where for masked_fill", _everywhere(_fill_where)),
    "softmax-by-hand": ("softmax from its definition", _everywhere(_by_hand("softmax", "_softmax_by_hand"))),
    "log-softmax-by-hand": (
        "log-softmax from its definition",
        _everywhere(_by_hand("log_softmax", "_log_softmax_by_hand")),
    ),
    "cross-entropy-by-hand": (
        "cross-entropy from its definition",
        _everywhere(_by_hand("cross_entropy", "_cross_entropy_by_hand", count=2)),
    ),
    "larger-swapped": ("maximum(b, a) for maximum(a, b)", _everywhere(_larger_swapped)),
    "comparison-turned": ("b > a for a < b", _everywhere(_comparison_turned)),
    "choice-turned": ("a conditional expression the other way round", _everywhere(_choice_turned)),
    "list-of-generator": ("list(…) for a list comprehension", _everywhere(_list_of_generator)),
    "named-arguments": ("arguments by name", _everywhere(_named_arguments)),
    "factors-negated": ("singular or eigenvectors of the other sign", _everywhere(_factors_negated)),
}

"""General mistakes in conditions: comparisons, negations, `and` and `or`, true and false."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import called, is_method, is_question_of_none, keep
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_EDGE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
_NEGATED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_OPPOSITE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    **_NEGATED,
}


def _compared(site: Site, node: ast.AST, signs: dict[type[ast.cmpop], tuple[str, str]]) -> Edit | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in signs:
        old, new = signs[type(node.ops[0])]
        return site.between(node.left, node.comparators[0], old, new)
    return None


@operator("comparison-edge", "a comparison is wrong where both sides are equal", "logic", ast.Compare)
def comparison_edge(site: Site) -> Iterator[Edit | None]:
    yield _compared(site, site.node, _EDGE)


@operator("condition-negated", "a condition is turned round", "logic", ast.If, ast.comprehension)
def condition_negated(site: Site) -> Iterator[Edit | None]:
    for test in [site.node.test] if isinstance(site.node, ast.If) else site.node.ifs:
        if is_question_of_none(test):
            continue
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield keep(site, test, test.operand)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            yield _compared(site, test, _OPPOSITE)
        else:
            yield site.write(test, "not {}", test)


@operator("comparison-negated", "equal stands for unequal, or the other way round", "logic", ast.Compare)
def comparison_negated(site: Site) -> Iterator[Edit | None]:
    if not isinstance(site.parent, ast.While) and not is_question_of_none(site.node):
        yield _compared(site, site.node, _NEGATED)


@operator("branches-exchanged", "both branches of a choice are exchanged", "logic", ast.IfExp, ast.Call)
def branches_exchanged(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node, ast.IfExp):
        yield site.write(node, "{} if {} else {}", node.orelse, node.test, node.body)
    elif called(node) == "where" and len(node.args) == 3 and not is_method(site, node):
        yield site.swap(node.args[1], node.args[2])


@operator("and-for-or", "and stands for or, or the other way round", "logic", ast.BoolOp)
def and_for_or(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if len(node.values) == 2:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield site.between(node.values[0], node.values[1], old, new)


@operator("masks-joined-otherwise", "both is asked for either, or the other way round", "logic", ast.BinOp)
def masks_joined_otherwise(site: Site) -> Iterator[Edit | None]:
    node = site.node
    if isinstance(node.op, ast.BitAnd | ast.BitOr) and not any(map(_is_kind, (node.left, node.right))):
        old, new = ("&", "|") if isinstance(node.op, ast.BitAnd) else ("|", "&")
        yield site.between(node.left, node.right, old, new)


def _is_kind(node: ast.expr) -> bool:
    """Say whether it is a type, as in `int | None` or `nn.Linear | nn.Embedding`."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return isinstance(node, ast.Constant) or name[:1].isupper() or name in ("int", "str", "float", "list", "dict")


@operator("not-dropped", "a negation is left out", "logic", ast.UnaryOp)
def not_dropped(site: Site) -> Iterator[Edit | None]:
    if isinstance(site.node.op, ast.Not | ast.Invert) and not isinstance(site.parent, ast.While):
        yield keep(site, site.node, site.node.operand)


@operator("truth-flipped", "true stands for false, or the other way round", "logic", ast.Constant)
def truth_flipped(site: Site) -> Iterator[Edit | None]:
    if isinstance(site.node.value, bool) and not isinstance(site.parent, ast.While):
        yield site.replace(site.node, str(not site.node.value))

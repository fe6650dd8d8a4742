"""A proof that two files are the same program: both are rewritten to one normal form and compiled.

Every rewriting holds for any values: it never assumes that numbers are finite, or that `+` adds numbers. Two files that
differ here may still be equivalent.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from goldsmith.foundation.syntax import parsing, syntax_tree

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def are_same_program(one: bytes, two: bytes) -> bool:
    """Say whether two files compile to the same instructions once both are in normal form."""
    try:
        return bool(_instructions(one) == _instructions(two))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _instructions(content: bytes) -> Any:
    with parsing:
        tree = ast.fix_missing_locations(_Normal().visit(syntax_tree(content)))
        return _facts(compile(tree, "", "exec"))


def _facts(value: Any) -> Any:
    """Return what decides the behaviour of compiled code, without line numbers and file names."""
    if isinstance(value, CodeType):
        names = (value.co_name, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        shape = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
        return names, shape, value.co_code, value.co_exceptiontable, tuple(map(_facts, value.co_consts))
    if isinstance(value, tuple):
        return tuple, tuple(map(_facts, value))
    return type(value), repr(value)  # not the values: 0.0 == -0.0, and 1 == True


class _Normal(ast.NodeTransformer):
    """The rewriting: `>` becomes `<`, a number goes behind its other factor, `not (a is b)` becomes `a is not b`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        flipped = _FLIPPED.get(type(node.ops[0]))
        if flipped is None or len(node.ops) > 1 or not (_is_plain(node.left) or _is_plain(node.comparators[0])):
            return node
        return ast.Compare(left=node.comparators[0], ops=[flipped()], comparators=[node.left])

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and _is_number(node.left) and not _is_number(node.right):
            return ast.BinOp(left=node.right, op=node.op, right=node.left)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            opposite = {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
            turned = opposite.get(type(inner.ops[0]))
            if turned is not None:
                return ast.Compare(left=inner.left, ops=[turned()], comparators=inner.comparators)
        return node


def _is_plain(node: ast.AST) -> bool:
    """Say whether it makes no difference when the node is evaluated."""
    return isinstance(node, ast.Name | ast.Constant)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)

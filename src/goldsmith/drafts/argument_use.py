"""Read from a function's source how its body uses its arguments: what kind of value each of them can be."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

from goldsmith.drafts.size_positions import names_of_sizes
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.frameworks.framework import active

ARRAY, TEXT, LIST, MAPPING, NUMBER, FUNCTION = "array", "text", "list", "mapping", "number", "function"
SIZE = "size"
"""A whole number: a count, or the length of an axis."""
_LIBRARIES = dict.fromkeys(("torch", "np", "numpy", "jnp", "jax", "F", "nn"), ARRAY) | {"math": NUMBER}


@dataclass
class Usage:
    """The attributes of an argument that are used, and the kinds that its other uses suggest or rule out."""

    attributes: set[str] = field(default_factory=set)
    likely: list[str] = field(default_factory=list)
    is_walked: bool = False
    is_index: bool = False
    """Whether it stands in the brackets of something else, alone or beside other indices."""
    calls: int = 0
    words: list[str] = field(default_factory=list)
    """Texts that it is compared with."""

    @property
    def is_size(self) -> bool:
        """Say whether it is used where only a whole number is possible."""
        return SIZE in self.likely and self.can_be_number

    @property
    def can_be_number(self) -> bool:
        return not self.is_walked and not self.calls and all(hasattr(int, name) for name in self.attributes)

    def kinds(self) -> list[str]:
        """Return the kinds of values that can be used so, the likeliest first."""
        import numpy as np

        types = {TEXT: str, LIST: list, MAPPING: dict, ARRAY: np.ndarray, NUMBER: float}
        able = [kind for kind, type_ in types.items() if all(_has(type_, name, kind) for name in self.attributes)]
        if self.calls and not self.attributes:
            return [FUNCTION]
        if self.is_walked:
            able = [kind for kind in able if kind != NUMBER]
        if not self.attributes and not self.is_walked:
            able.sort(key=lambda kind: kind != NUMBER)
        elif not self.attributes:
            able.sort(key=lambda kind: kind != LIST)
        return list(dict.fromkeys([*(kind for kind in self.likely if kind in able), *able]))


def usages_of(function: Any) -> dict[str, Usage]:
    """Return usages by argument name, of a class those of its constructor; nothing where the source cannot be read."""
    if inspect.isclass(function):
        function = function.__init__
    try:
        tree = syntax_tree(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    definition = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if definition is None:
        return {}
    arguments = definition.args
    found = {item.arg: Usage() for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(definition):
        _look(node, found)
        for name in names_of_sizes(node):
            if name in found:
                found[name].likely.insert(0, SIZE)
    return found


def _look(node: ast.AST, found: dict[str, Usage]) -> None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in found:
        found[node.value.id].attributes.add(node.attr)
    if isinstance(node, ast.Subscript):
        for item in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(item, ast.Name) and item.id in found:
                found[item.id].is_index = True
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in found:
        found[node.value.id].is_walked = True
        if isinstance(node.slice, ast.Tuple):
            found[node.value.id].likely.append(ARRAY)
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name) and node.iter.id in found:
        found[node.iter.id].is_walked = True
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        for side in (node.left, node.right):
            if isinstance(side, ast.Name) and side.id in found:
                found[side.id].likely.append(ARRAY)
    elif isinstance(node, ast.Compare) and any(isinstance(item, ast.In | ast.NotIn) for item in node.ops):
        for side in node.comparators:
            if isinstance(side, ast.Name) and side.id in found:
                found[side.id].is_walked = True
        _look_at_words(node, found)
    elif isinstance(node, ast.Compare):
        _look_at_words(node, found)
    elif isinstance(node, ast.Call):
        _look_at_call(node, found)


def _look_at_words(node: ast.Compare, found: dict[str, Usage]) -> None:
    if isinstance(node.left, ast.Name) and node.left.id in found:
        texts = [item.value for side in node.comparators for item in ast.walk(side) if isinstance(item, ast.Constant)]
        found[node.left.id].words += [text for text in texts if isinstance(text, str)]


def _look_at_call(node: ast.Call, found: dict[str, Usage]) -> None:
    if isinstance(node.func, ast.Name) and node.func.id in found:
        found[node.func.id].calls += 1
    names = [item.id for item in node.args if isinstance(item, ast.Name) and item.id in found]
    if isinstance(node.func, ast.Name) and node.func.id in ("len", "sum", "sorted", "enumerate", "zip", "set", "list"):
        for name in names:
            found[name].is_walked = True
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in _LIBRARIES and root is not node.func:
        for name in names:
            found[name].likely.append(_LIBRARIES[root.id])


def _has(type_: type, name: str, kind: str) -> bool:
    if kind == ARRAY:
        return any(hasattr(kind, name) for kind in (type_, *(each for item in active() for each in item.arrays.TYPES)))
    return hasattr(type_, name)

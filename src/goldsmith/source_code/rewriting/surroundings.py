"""What a rewrite has to know of the file around a function: what names stand for, and which of them are free."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

Function = ast.FunctionDef

_ARRAYS = ("torch", "numpy", "jax.numpy", "torch.nn.functional")
_INSIDE = ("torch.nn", "jax", "torch.linalg", "numpy.linalg", "jax.numpy.linalg")


@dataclass
class Surroundings:
    """`libraries` are the names that stand for a library of arrays, `functions` the plain functions of the file;
    `helpers` collects what rewrites need at run time."""

    libraries: Mapping[str, str]
    functions: Mapping[str, ast.FunctionDef]
    names: set[str]
    helpers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tree: ast.Module) -> Surroundings:
        libraries = dict(_imports(tree))
        functions = {
            node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list
        }
        words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        words |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        return cls(libraries, functions, words | set(functions))

    def fresh(self, name: str) -> str:
        """Return a name that nothing in the file has."""
        numbered = (f"{name}_{at}" for at in itertools.count(2))
        found = next(item for item in itertools.chain([name], numbered) if item not in self.names)
        self.names.add(found)
        return found

    def helper(self, name: str) -> ast.expr:
        """Return the name of a helper, which the file then gets."""
        self.helpers.add(name)
        return ast.Name(name, ast.Load())

    def library_of(self, node: ast.AST) -> str:
        """Return the library that an expression such as `np` or `torch.nn.functional` stands for, or ""."""
        if isinstance(node, ast.Name):
            return self.libraries.get(node.id, "")
        if isinstance(node, ast.Attribute):
            whole = f"{self.library_of(node.value)}.{node.attr}"
            return whole if whole in (*_ARRAYS, *_INSIDE) else ""
        return ""


def _imports(tree: ast.Module) -> list[tuple[str, str]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [
                (item.asname or item.name.partition(".")[0], item.name if item.asname else item.name.partition(".")[0])
                for item in node.names
            ]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(item.asname or item.name, f"{node.module}.{item.name}") for item in node.names]
    return [(name, library) for name, library in found if library in (*_ARRAYS, "math", "torch.nn", "jax")]

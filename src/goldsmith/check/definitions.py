"""Where in a submission's files a class, method or function is defined, so that people can go there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from goldsmith.course.starter_diff import parse_parts


def find_definition(files: Mapping[str, bytes], kind: str, function: str) -> str:
    """Return the place of a definition, such as `policy.py:63`: the method's if there is one, else the class's; empty
    where no file defines it."""
    for name, content in files.items():
        node = parse_parts(content).get(kind)
        if node is None:
            continue
        inside = node.body if isinstance(node, ast.ClassDef) else []
        methods = {item.name: item for item in inside if isinstance(item, ast.FunctionDef)}
        return f"{name}:{methods.get(function or 'forward', node).lineno}"
    return ""

"""Where in a submission's files a class, method or function is defined, so that people can go there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from goldsmith.source_code.parts import parse_parts


def find_definition(files: Mapping[str, bytes], kind: str, function: str | None) -> str:
    """Return the place of a definition, such as `policy.py:63`: the method's if there is one, else the class's; empty
    where no file defines it. Without a function it is the class's."""
    for name, content in files.items():
        node = parse_parts(content).get(kind)
        if node is None:
            continue
        inside = node.body if isinstance(node, ast.ClassDef) else []
        methods = {item.name: item for item in inside if isinstance(item, ast.FunctionDef)}
        found = node if function is None else methods.get(function or "forward", node)
        return f"{name}:{found.lineno}"
    return ""

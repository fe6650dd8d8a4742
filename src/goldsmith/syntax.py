"""The one door through which Python source becomes a syntax tree.

CPython 3.11 counts how deep it is in a tree for all threads together: two that parse at the same time, one of them
interrupted by a finaliser, give "SystemError: AST constructor recursion depth mismatch", whatever they parse.
"""

from __future__ import annotations

import ast
import threading

parsing = threading.RLock()
"""Also held around what parses inside of libraries, such as NumPy's reading of headers."""


def syntax_tree(source: bytes | str) -> ast.Module:
    """The tree of `source`, parsed while no other thread parses."""
    with parsing:
        return ast.parse(source)

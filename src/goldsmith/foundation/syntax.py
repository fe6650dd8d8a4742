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
    """The tree of `source`, parsed while no other thread parses; SyntaxError also for source that is nested deeper than
    Python's parser can go, which says so in errors of other kinds."""
    with parsing:
        try:
            return ast.parse(source)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError(f"nested too deeply to be parsed ({error or 'out of memory'})") from None

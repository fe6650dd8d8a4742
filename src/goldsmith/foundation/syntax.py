"""The one door through which Python source becomes a syntax tree.

CPython 3.11 counts how deep it is in a tree for all threads together: two that parse at the same time, one of them
interrupted by a finaliser, give "SystemError: AST constructor recursion depth mismatch", whatever they parse.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import threading
import tokenize

parsing = threading.RLock()
"""Also held around what parses inside of libraries, such as NumPy's reading of headers."""


def decode_source(content: bytes) -> str:
    """Decode a Python file as Python itself would: by its byte order mark or its coding line; lines end in `\\n`.
    Raise SyntaxError or ValueError where Python could not read it."""
    return importlib.util.decode_source(content)


def encode_source(text: str, like: bytes) -> bytes:
    """Encode a Python file so that the mark or coding line which it has from `like` is true."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(like).readline)
    return text.encode(encoding, "backslashreplace")


def syntax_tree(source: bytes | str) -> ast.Module:
    """The tree of `source`, parsed while no other thread parses; SyntaxError also for source that is nested deeper than
    Python's parser can go, which says so in errors of other kinds."""
    with parsing:
        try:
            return ast.parse(source)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError(f"nested too deeply to be parsed ({error or 'out of memory'})") from None

"""Parse Python source; every other module parses through this one.

CPython 3.11 counts the recursion depth of a tree for all threads together: when two threads parse at the same time and
one is interrupted by a finaliser, "SystemError: AST constructor recursion depth mismatch" is raised for any source.
"""

from __future__ import annotations

import ast
import codecs
import importlib.util
import io
import threading
import tokenize

parsing = threading.RLock()
"""Held while parsing, also around libraries that parse Python themselves, such as NumPy's reading of headers."""


_OF_HOST_NAMES = ("idna", "punycode")
"""Encodings that nobody saves a file in: decoding takes time that grows with the square of its size."""


def decode_source(content: bytes) -> str:
    r"""Decode a Python file as Python would: by its byte order mark or coding line; lines end in `\n`.

    Raise SyntaxError or ValueError where Python could not read it, and for encodings of host names.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if codecs.lookup(encoding).name in _OF_HOST_NAMES:
            raise SyntaxError(f"{encoding} is an encoding of host names, not of files")
        return importlib.util.decode_source(content)
    except LookupError as error:  # `zlib` and its like, which are no encodings of text
        raise SyntaxError(str(error)) from None


def encode_source(text: str, like: bytes) -> bytes:
    """Encode a Python file by the byte order mark or coding line of `like`, which `text` still has."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(like).readline)
    return text.encode(encoding, "backslashreplace")


def syntax_tree(source: bytes | str) -> ast.Module:
    """Parse `source` while no other thread parses.

    Raise SyntaxError also for source that cannot be decoded, or is nested too deeply for Python's parser, which raises
    errors of other kinds then.
    """
    try:
        text = decode_source(source) if isinstance(source, bytes) else source
    except UnicodeError as error:
        raise SyntaxError(f"it cannot be decoded ({error})") from None
    with parsing:
        try:
            return ast.parse(text)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError(f"nested too deeply to be parsed ({error or 'out of memory'})") from None

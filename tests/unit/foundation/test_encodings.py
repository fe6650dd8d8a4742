"""Python files in whatever encoding they name: they are read, or refused as Python would, and nobody else fails."""

from __future__ import annotations

import encodings
import pkgutil

import pytest

from goldsmith.foundation.syntax import decode_source, encode_source, syntax_tree

NAMES = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__))


def test_every_encoding_that_python_knows_is_read_or_refused_as_no_source() -> None:
    refused = set()
    for name in NAMES:
        content = f"# coding: {name}\nx = 'a.b' + 'ä'\n".encode()
        try:
            encode_source(decode_source(content), content)
            syntax_tree(content)
        except (SyntaxError, ValueError):
            refused.add(name)
    assert {"zlib_codec", "rot_13", "hex_codec", "undefined", "idna", "punycode"} <= refused
    assert not {"utf_8", "latin_1", "cp1252", "shift_jis"} & refused


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"# coding: no-such-thing\n", b"\xff\xfex"])
def test_bytes_that_are_no_text_are_no_source(content: bytes) -> None:
    with pytest.raises(SyntaxError):
        syntax_tree(content)


def test_source_is_decoded_as_it_says() -> None:
    assert "'ä'" in decode_source("# coding: latin-1\nx = 'ä'\n".encode("latin-1"))
    assert syntax_tree("\ufeffx = 1\r\ny = 2\r\n".encode()).body[1].lineno == 2

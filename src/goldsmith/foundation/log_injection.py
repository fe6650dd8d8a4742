"""Print text that strangers may have written: no CI system takes a line of it for a command, and no terminal obeys it.

All that goldsmith prints goes through here: plain lines by `say`, JSON by `say_json`, and what Rich lays out by
`render/console.py`, which asks for the places that are to be escaped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

_COMMAND = re.compile(r"(?:^|(?<=\s))::(?=\S)|##(?=\[|vso\[|teamcity\[)")
"""GitHub Actions reads a command at the start of a line, after any spaces; its old form, and other systems,
anywhere."""
BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters that show nothing, most of which may be in Python's names: with them, a name reads like a sentence."""
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    + "".join(BLANK_LETTERS)
    + "]"
)
"""What moves a cursor, begins an escape sequence, ends a line for some, turns the direction of writing, or cannot be
seen. Line feeds and tabs stay."""


def without_commands(text: str) -> str:
    r"""Escape CI commands in `text`, however its lines are broken: `::error::x` becomes `\::error::x`."""
    return _COMMAND.sub(lambda found: "\\::" if found[0] == "::" else "#\\#", text)


def command_places(text: str) -> Iterator[int]:
    """Yield where a backslash takes a CI command apart, in order."""
    for found in _COMMAND.finditer(text):
        yield found.start() + (found[0] != "::")


def without_control(text: str) -> str:
    r"""Write control characters out: an escape becomes `\x1b`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable(text: str) -> str:
    return without_commands(without_control(text))


def say(text: str = "", *, stderr: bool = False) -> None:
    """Print lines of text."""
    print(printable(text), file=sys.stderr if stderr else sys.stdout)


def say_json(text: str) -> None:
    """Print JSON, whose values stay what they are."""
    text = _COMMAND.sub(lambda found: f"{found[0][0]}\\u{ord(found[0][1]):04x}", text)
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))

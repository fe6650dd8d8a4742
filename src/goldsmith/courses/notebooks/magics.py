"""IPython's own syntax: magics, shell commands, requests for help. All are replaced, line for line."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PYTHON_CELLS = frozenset(["time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "python3"])
"""Magics whose cell is Python all the same."""
_CELL = re.compile(r"(?:[ \t]*(?:#.*)?\n)*%%(\w+)")
_LINE = re.compile(
    r"\s*(?:[%!?]"
    r"|[\w.\[\]*]+\?{1,2}\s*$"
    r"|(?:pip3?|conda|mamba|uv|apt|apt-get|cd|ls|cat|cp|mv|rm|mkdir|wget|curl)\s+[-\w./~{$])"
)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=\s*[!%](?!=)")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class WithoutMagics:
    """A cell's Python: `assigned` are names that only a magic gives a value, with its line."""

    source: str
    assigned: dict[str, int]


def cell_magic(source: str) -> str:
    """Return the magic that makes a whole cell something else than Python, such as `%%bash`; empty where none does."""
    found = _CELL.match(source)
    return f"%%{found[1]}" if found and found[1] not in _PYTHON_CELLS else ""


def replace_magics(source: str) -> WithoutMagics:
    """Put `pass` in the place of every line that only IPython understands. Lines inside strings and brackets stay."""
    found: list[str] = []
    assigned: dict[str, int] = {}
    scanner = _Scanner()
    in_magic = False
    for number, line in enumerate(source.split("\n"), 1):
        if in_magic:
            found.append("")
        elif scanner.at_statement and (_LINE.match(line) or _ASSIGNMENT.match(line)):
            given = _ASSIGNMENT.match(line)
            assigned |= dict.fromkeys(_NAME.findall(given[1]) if given else (), number)
            found.append(line[: len(line) - len(line.lstrip())] + "pass")
            in_magic = True
        else:
            found.append(line)
            scanner.read(line)
        in_magic = in_magic and line.rstrip().endswith("\\")
    return WithoutMagics("\n".join(found), assigned)


class _Scanner:
    """Whether a statement may begin on the next line: not in a string, a bracket, or after a backslash."""

    def __init__(self) -> None:
        self._quote, self._depth, self._continued = "", 0, False

    @property
    def at_statement(self) -> bool:
        return not self._quote and self._depth == 0 and not self._continued

    def read(self, line: str) -> None:
        position, end = 0, len(line)
        self._continued = False
        while position < end:
            char = line[position]
            if char == "\\":
                self._continued = position == end - 1 and not self._quote
                position += 2
            elif self._quote:
                position += self._close(line, position)
            elif char == "#":
                return
            elif char in "\"'":
                self._quote = char * 3 if line.startswith(char * 3, position) else char
                position += len(self._quote)
            else:
                self._depth = max(0, self._depth + (char in "([{") - (char in ")]}"))
                position += 1
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = ""  # an error, of which Python will tell

    def _close(self, line: str, position: int) -> int:
        if not line.startswith(self._quote, position):
            return 1
        length, self._quote = len(self._quote), ""
        return length

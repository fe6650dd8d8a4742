"""A notebook as the Python module that it became: which line of which cell each line comes from, and places as people
find them. What reads notebooks is in `courses/notebooks`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

AS_GIVEN = "_as_given"
"""The end of the name under which a starter's module is there, where the notebook that stands for it imports it."""
_UNKNOWN_NAME = re.compile(r"\bname '(\w{1,200})' is not defined")
_NOT_SUBMITTED = re.compile(r"\b\w{1,200}\.(\w{1,200}) is not in the submission")


@dataclass(frozen=True)
class NotebookModule:
    """A notebook's definitions as a module.

    `places` has, for the first line of every run of lines, its number here, the cell's number (0 in a text file) and
    the line's number there. `missing` says of names that the definitions need where the code that binds them is, and
    why it was left out. `defines` are the names that are bound. `errors` has, by the line here that raises it, the line
    there that Python cannot parse. `imports_itself` says that it imports the module that it stands for.
    """

    source: bytes
    places: tuple[tuple[int, int, int], ...]
    notes: tuple[str, ...]
    missing: Mapping[str, str]
    defines: frozenset[str]
    errors: Mapping[int, str]
    imports_itself: bool = False

    def place(self, line: int) -> tuple[int, int]:
        """Return the number of the cell, 0 in a text file, and the line in it, for a line of the module."""
        number = bisect_right(self.places, (line, 2**31, 2**31)) - 1
        if number < 0:
            return 0, 0
        start, cell, first = self.places[number]
        return cell, first + line - start

    def cells(self) -> dict[int, bytes]:
        """Return what is kept of each cell, by its number, every line where it is in the cell."""
        found: dict[int, list[bytes]] = {}
        for number, line in enumerate(self.source.split(b"\n")[:-1], 1):
            cell, inside = self.place(number)
            if cell and inside > 0 and number not in self._markers:
                lines = found.setdefault(cell, [])
                lines += [b""] * (inside - len(lines))
                lines[inside - 1] = line
        return {cell: b"\n".join(lines) for cell, lines in found.items()}

    @property
    def _markers(self) -> frozenset[int]:
        return frozenset(start - 1 for start, _, _ in self.places)


@dataclass(frozen=True)
class ShownNotebook:
    """A notebook by its file's `name`, and the module that it became."""

    name: str
    module: NotebookModule

    def place(self, line: int) -> str:
        """Name the place of a line of the module, such as `hw1.ipynb, cell 7, line 3`."""
        cell, inside = self.module.place(line)
        return f"{self.name}, cell {cell}, line {inside}" if cell else f"{self.name}:{inside}"

    def with_places(self, message: str, file: str) -> str:
        """Return an error's message with lines of the module, which is at `file`, replaced by places here."""
        pattern = rf"{re.escape(file)}[\"']?, line (\d{{1,7}})"
        return re.sub(pattern, lambda found: self.place(int(found[1])), message)

    def why_missing(self, message: str) -> str:
        """Say of the name that an error found missing in which cell it is, and why that was left out."""
        found = _UNKNOWN_NAME.search(message) or _NOT_SUBMITTED.search(message)
        where = self.module.missing.get(found[1]) if found else None
        return f"{found[1]} is only defined in {where}" if found and where else ""

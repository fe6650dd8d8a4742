"""Places in notebooks, as people find them: a line of a module becomes a line of a cell."""

from __future__ import annotations

import re
from dataclasses import dataclass

from goldsmith.courses.notebooks.convert import NotebookModule

_UNKNOWN_NAME = re.compile(r"\bname '(\w{1,200})' is not defined")
_NOT_SUBMITTED = re.compile(r"\b\w{1,200}\.(\w{1,200}) is not in the submission")


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

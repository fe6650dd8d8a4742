"""What can keep a notebook from being read."""

from __future__ import annotations

from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class BadNotebook(UsageError):
    template = "the notebook {name} cannot be read: {problem}; {next_step}."
    name: str
    problem: str
    next_step: str


class CellSyntax(GoldsmithError):
    file: Path
    cell: int
    line: int
    text: str

    def sentence(self) -> str:
        place = f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"
        return f"{self.file}, {place}, is not Python: {self.text}; write what belongs there, then run it again."

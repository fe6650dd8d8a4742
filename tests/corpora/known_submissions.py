"""The submissions under tests/corpora/submissions, each with the truth about it, read from its `expected.toml`.

A submission is a folder of whole files, or a list of edits to the assignment's solution, or both.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "submissions"
SOLUTIONS = Path(__file__).parents[2] / "examples" / "vla-course" / "private" / "solutions"


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which must occur exactly `count` times in `file`, with `new`."""

    file: str
    old: str
    new: str
    count: int = 1


@dataclass(frozen=True)
class Known:
    """One submission and the truth about it.

    `parts` are the classes and functions in which the mistakes lie, `unwritten` those that still are the starter's
    stubs, `first` is the module that should be named first ("" where that is not known), `kind` groups a table.
    """

    assignment: str
    name: str
    about: str
    outcome: str
    first: str = ""
    parts: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    kind: str = ""
    edits: tuple[Edit, ...] = ()

    @property
    def folder(self) -> Path:
        return CORPUS / self.assignment / self.name

    def written(self, target: Path, solutions: Path) -> Path:
        """The submission as a folder under `target`; `solutions` holds one folder of solutions per assignment."""
        made = target / self.name
        shutil.copytree(self.folder, made, ignore=shutil.ignore_patterns("expected.toml", "__pycache__"))
        for solution in (solutions / self.assignment).glob("*_solution.py"):
            file = made / solution.name.replace("_solution.py", ".py")
            if not file.exists():
                shutil.copyfile(solution, file)
        for edit in self.edits:
            self._apply(edit, made / edit.file)
        return made

    def _apply(self, edit: Edit, file: Path) -> None:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        found = text.count(edit.old)
        if found != edit.count:
            raise ValueError(
                f"{self.assignment}/{self.name}: {edit.old!r} occurs {found} times in {edit.file}, not {edit.count}"
            )
        file.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def known(assignment: str) -> list[Known]:
    """Every submission to `assignment`, by name."""
    return [_read(assignment, file) for file in sorted((CORPUS / assignment).glob("*/expected.toml"))]


def _read(assignment: str, file: Path) -> Known:
    facts = tomllib.loads(file.read_text(encoding="utf-8"))
    return Known(
        assignment,
        file.parent.name,
        facts["about"],
        facts["outcome"],
        facts.get("first", ""),
        tuple(facts.get("parts", ())),
        tuple(facts.get("unwritten", ())),
        facts.get("kind", ""),
        tuple(Edit(**edit) for edit in facts.get("edits", ())),
    )

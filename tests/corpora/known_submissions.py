"""The submissions under tests/corpora/submissions, each with the truth about it.

A submission is a folder with an `expected.toml` in it: whole files, or edits, or both. Edits are to the assignment's
solution, to the starter, or to another submission that it is `like`: somebody else's way of writing. Or it is a table
in `<assignment>.toml`, which lists many that are edits to the solution alone. The truth was written down from what the
assignment asks for, before any of them was judged, and is never changed because of a verdict.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "submissions"
EXAMPLE = Path(__file__).parents[2] / "examples" / "vla-course"
SOLUTIONS = EXAMPLE / "private" / "solutions"


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
    stubs, `first` is the module that should be named first ("" where that is not known), `kind` groups a table. All
    other parts are right, and should be paid, but for `untold`: nobody could tell whether these are. `also` is another
    outcome that is right, where that depends on what else runs in the same process. `seconds` is how long a case may
    take where one never ends (0: as long as usual). `like` is another submission whose files it has, but for its
    edits; `starter` names a file that is the starter as it was handed out.
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
    untold: tuple[str, ...] = ()
    also: str = ""
    seconds: float = 0.0
    like: str = ""
    starter: str = ""

    @property
    def guilty(self) -> frozenset[str]:
        """The parts that must not be paid."""
        return frozenset((*self.parts, *self.unwritten))

    @property
    def folder(self) -> Path:
        return CORPUS / self.assignment / self.name

    def written(self, target: Path, solutions: Path) -> Path:
        """The submission as a folder under `target`; `solutions` holds one folder of solutions per assignment."""
        made = target / self.name
        made.mkdir(parents=True)
        for name in (self.like, self.name):
            if name and (folder := self.folder.with_name(name)).is_dir():
                omitted = shutil.ignore_patterns("expected.toml", "__pycache__")
                shutil.copytree(folder, made, ignore=omitted, dirs_exist_ok=True)
        if self.starter:
            shutil.copyfile(EXAMPLE / "src" / "assignments" / self.assignment / "backbone.py", made / self.starter)
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
    found = [
        _read(assignment, file.parent.name, _facts(file)) for file in (CORPUS / assignment).glob("*/expected.toml")
    ]
    if (CORPUS / f"{assignment}.toml").is_file():
        listed = _facts(CORPUS / f"{assignment}.toml")
        found += [_read(assignment, facts["name"], facts, listed["file"]) for facts in listed["submission"]]
    return sorted(found, key=lambda item: item.name)


def _facts(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _read(assignment: str, name: str, facts: Mapping[str, Any], file: str = "") -> Known:
    """Read the truth about a submission; `file` is what its edits change where they do not say."""
    return Known(
        assignment,
        name,
        facts["about"],
        facts["outcome"],
        facts.get("first", ""),
        tuple(facts.get("parts", ())),
        tuple(facts.get("unwritten", ())),
        facts.get("kind", ""),
        tuple(Edit(**({"file": file} | edit)) for edit in facts.get("edits", ())),
        tuple(facts.get("untold", ())),
        facts.get("also", ""),
        facts.get("seconds", 0.0),
        facts.get("like", ""),
        facts.get("starter", ""),
    )

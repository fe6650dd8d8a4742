"""Mutants: the solution with one mistake in one line, for every place where an operator can put one."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldsmith.errors.mutants import BadOperators
from goldsmith.mutants.registry import Operator, Site, sites
from goldsmith.mutants.source import Edit, Function, Source
from goldsmith.runs.run import Place
from goldsmith.source_code.parts import written_by_students
from goldsmith.targets.target import Placement, Target


@dataclass(frozen=True)
class Mutant:
    """One mutant. `span` is where the changed node begins and ends, `lines` are those of the statement around it."""

    name: str
    file: Path
    part: str
    operator: str
    family: str
    description: str
    line: int
    before: str
    after: str
    lines: tuple[int, int]
    span: tuple[Place, Place]
    content: bytes
    shown: tuple[str, int] = ("", 0)
    """The file and the line that people find it at, where they are not those of the module: in a notebook, by cell."""

    @property
    def place(self) -> tuple[str, int]:
        return self.shown if self.shown[0] else (self.file.as_posix(), self.line)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def make_mutants(target: Target, placed: Sequence[Placement], operators: Sequence[Operator]) -> list[Mutant]:
    """Return every mutant of the code that students have to write, file by file."""
    found = []
    for item in code_of(target, placed):
        given = target.starter.read(item.target) if target.starter else None
        found += [_shown(mutant, item) for mutant in mutants_of(item.target, item.read(), given, operators)]
    counts = Counter(item.name for item in found)
    return [
        item if counts[item.name] == 1 else dataclasses.replace(item, name=f"{item.file.as_posix()}:{item.name}")
        for item in found
    ]


def _shown(mutant: Mutant, item: Placement) -> Mutant:
    notebook = item.notebook()
    if notebook is None:
        return mutant
    cell, line = notebook.place(mutant.line)
    file = f"{item.source.name}, cell {cell}" if cell else item.source.name
    return dataclasses.replace(mutant, shown=(file, line))


def left_alone(target: Target, placed: Sequence[Placement]) -> list[str]:
    """Return the solution's files that are not Python in UTF-8, so that nothing in them is mutated."""
    found = []
    for item in code_of(target, placed):
        try:
            Source(item.read())
        except (SyntaxError, ValueError):
            found.append(item.target.as_posix())
    return found


def code_of(target: Target, placed: Sequence[Placement]) -> list[Placement]:
    return [item for item in placed if item.target.suffix == ".py" and item.source != target.recipe]


def mutants_of(file: Path, content: bytes, starter: bytes | None, operators: Sequence[Operator]) -> list[Mutant]:
    """Return the mutants of one file, except in functions that its `starter` provides."""
    try:
        source = Source(content)
    except (SyntaxError, ValueError):
        return []
    provided = _provided(starter)
    seen: dict[bytes, None] = {content: None}
    counts: dict[str, int] = {}
    found = []
    for part, function in source.functions():
        if part in provided:
            continue
        for operator, site, changed in _changes(source, function, operators):
            if changed in seen:
                continue
            seen[changed] = None
            where = source.changed_line(changed)
            assert where is not None
            base = f"{part}/{operator.name}"
            counts[base] = counts.get(base, 0) + 1
            found.append(
                Mutant(
                    name=base if counts[base] == 1 else f"{base}-{counts[base]}",
                    file=file,
                    part=part,
                    operator=operator.name,
                    family=operator.family,
                    description=operator.description,
                    line=where[0],
                    before=where[1].strip(),
                    after=where[2].strip(),
                    lines=(site.statement.lineno, site.statement.end_lineno or site.statement.lineno),
                    span=_span(site),
                    content=changed,
                )
            )
    return found


def written_functions(content: bytes, starter: bytes | None) -> list[str]:
    """Return the functions and methods of a solution's file that its starter does not provide."""
    try:
        functions = Source(content).functions()
    except (SyntaxError, ValueError):
        return []
    provided = _provided(starter)
    return [part for part, _ in functions if part not in provided]


def _changes(
    source: Source, function: Function, operators: Sequence[Operator]
) -> Iterator[tuple[Operator, Site, bytes]]:
    """Yield changes operator by operator, so that the one that says most about a mutant comes first."""
    places = list(sites(source, function))
    for operator in operators:
        for site in places:
            if not isinstance(site.node, operator.looks_at):
                continue
            for edit in _edits(operator, site):
                changed = source.splice(edit)
                if changed is not None:
                    yield operator, site, changed


def _edits(operator: Operator, site: Site) -> list[Edit]:
    """Return the edits that an operator yields; name a course's own operator where it raises."""
    try:
        return [edit for edit in operator.mutate(site) or () if isinstance(edit, Edit)]
    except Exception as error:
        line = getattr(site.node, "lineno", site.statement.lineno)
        raise BadOperators(operator.name, f"it raised {error!r} at line {line} of the solution") from None


def _span(site: Site) -> tuple[Place, Place]:
    node: Any = site.node if hasattr(site.node, "end_lineno") else site.statement
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _provided(starter: bytes | None) -> set[str]:
    """Return the functions that students are given complete; a helper that only the solution has is not among them."""
    try:
        shown = Source(starter or b"")
    except (SyntaxError, ValueError):
        return set()  # a starter that does not parse provides nothing complete
    return {name for name, _ in shown.functions()} - written_by_students(starter or b"")

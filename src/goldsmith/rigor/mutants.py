"""Mutants: the solution with one mistake in one line, for every place where an operator can put one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.course import Assignment, Placement, written_by_students
from goldsmith.rigor.registry import Operator, sites
from goldsmith.rigor.source import Edit, Function, Source


@dataclass(frozen=True)
class Mutant:
    """`lines` are those of the statement that was changed; it is the mutant's only if one of them runs."""

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
    content: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def make_mutants(assignment: Assignment, placed: Sequence[Placement], operators: Sequence[Operator]) -> list[Mutant]:
    """Every mutant of what students have to write, in the order of the files."""
    found = []
    for item in placed:
        if item.target.suffix != ".py" or item.source == assignment.recipe:
            continue
        starter = assignment.starter / item.target
        given = starter.read_bytes() if starter.is_file() else None
        found += mutants_of(item.target, item.source.read_bytes(), given, operators)
    return found


def mutants_of(file: Path, content: bytes, starter: bytes | None, operators: Sequence[Operator]) -> list[Mutant]:
    """Mutants of one file; of what its `starter` provides there are none."""
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
        for operator, statement, changed in _changes(source, function, operators):
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
                    lines=statement,
                    content=changed,
                )
            )
    return found


def _changes(
    source: Source, function: Function, operators: Sequence[Operator]
) -> Iterator[tuple[Operator, tuple[int, int], bytes]]:
    """Operators in their order, so that the one that says most about a mutant comes first."""
    places = list(sites(source, function))
    for operator in operators:
        for site in places:
            if not isinstance(site.node, operator.looks_at):
                continue
            for edit in operator.mutate(site):
                changed = source.spliced(edit) if isinstance(edit, Edit) else None
                if changed is not None:
                    statement = site.statement
                    yield operator, (statement.lineno, statement.end_lineno or statement.lineno), changed


def _provided(starter: bytes | None) -> set[str]:
    """What students are given as it is; a helper that only the solution has is as good as written by them."""
    if starter is None:
        return set()
    return {name for name, _ in Source(starter).functions()} - written_by_students(starter)

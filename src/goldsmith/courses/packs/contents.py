"""The part of a course that a pack holds: starter, recipe, gold and settings of one assignment. Never a solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from goldsmith.check.course_files import private_files, public_files
from goldsmith.check.provided_code import Provided, changed_by_solution, changed_record, left_record
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.guard.public_file import PublicFile
from goldsmith.courses.guard.scan import guarded_by, sweep
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.packs import PackShowsSolution
from goldsmith.generate.freshness import require_fresh
from goldsmith.gold.manifest import Manifest, read_manifest
from goldsmith.targets.target import Submission, Target

COURSE = "course"
"""The folder in a pack that the course's files are in."""


def course_files(assignment: Assignment) -> dict[str, bytes]:
    """Return the files of a course in which this assignment, and nothing else, can be graded, by their paths in it.

    Gold must be fresh, and nothing of a solution may be in the files.
    """
    target = resolve(assignment)
    require_fresh(target)
    manifest = read_manifest(assignment.gold)
    rubric_for(assignment, allow_stale=False)  # raises where settings and gold do not fit
    try:
        public = _read(public_files(target, manifest))
        private = _read(private_files(target, manifest))
    except OSError as error:
        raise CannotWrite(Path(error.filename or assignment.starter), error.strerror or str(error)) from None
    _refuse_solutions(assignment, public)
    return {**public, **private, **_from_solution(target, manifest)}


def _read(files: Iterable[tuple[Path, Path]]) -> dict[str, bytes]:
    return {inside.as_posix(): path.read_bytes() for inside, path in files}


def _refuse_solutions(assignment: Assignment, files: Mapping[str, bytes]) -> None:
    """Raise if the guard finds any part of a solution in what is to be packed."""
    course = assignment.course
    guarded = guarded_by(course, everything_public=False)
    shown = [PublicFile(name, content) for name, content in files.items()]
    found = [
        item for item in sweep(course, shown, guarded).findings if item.kind in ("solution", "private", "injected")
    ]
    if found:
        raise PackShowsSolution(assignment.name, [f"{item.file} ({item.part})" for item in found])


def _from_solution(target: Target, manifest: Manifest) -> dict[str, bytes]:
    """Return the names that grades depend on and that only the solution tells: of functions that it leaves as they were
    given, and of provided code that it changes."""
    provided = Provided.of(target, Submission(""), manifest)
    facts = {
        left_record(target): provided.left,
        changed_record(target): changed_by_solution(target, provided.starter),
    }
    found = {record: {name: parts for name, parts in fact.items() if parts} for record, fact in facts.items()}
    return {
        target.project.relative(record).as_posix(): msgspec.json.encode(fact) for record, fact in found.items() if fact
    }

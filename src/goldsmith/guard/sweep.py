"""The guard's round: what must not be seen, gathered from solutions, gold and journals, then looked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from goldsmith.course import Assignment, Course, git, placements, variants_of
from goldsmith.errors import GoldsmithError, GoldUnreadable
from goldsmith.gold import read_manifest
from goldsmith.guard.leaks import Finding, Guarded, Secret, leaks_in, secrets_of
from goldsmith.guard.public import PublicFile, private_folders
from goldsmith.workspace import before_injection, journals


def guarded_by(course: Course, *, everything_public: bool) -> Guarded:
    """What this course keeps from students. `everything_public` says that private folders must not be there at all."""
    secrets = [secret for assignment in course.assignments() for secret in _secrets(assignment)]
    gold = {entry: name for assignment in course.assignments() for entry, name in _gold(assignment)}
    config = course.config.guard
    return Guarded(
        secrets=secrets,
        gold=gold,
        private=private_folders(course) if everything_public else [],
        threshold=config.threshold,
        allowed=config.allow,
    )


def sweep(course: Course, files: Iterable[PublicFile], guarded: Guarded) -> list[Finding]:
    """Every finding in `files`, a private folder named once, past ones with the commit they came in with."""
    found: list[Finding] = []
    folders: dict[tuple[str, bool], list[str]] = {}
    for file in files:
        for finding in leaks_in(file.path, file.content, guarded):
            folder = _private_folder(finding, guarded)
            if folder:
                folders.setdefault((folder, bool(file.past)), []).append(file.path)
            elif file.past:
                found.append(msgspec.structs.replace(finding, commit=_commit(course, file.past)))
            else:
                found.append(finding)
    for (folder, past), names in folders.items():
        count = f"{len(names)} file{'' if len(names) == 1 else 's'}"
        when = "was there once, and its history still has it" if past else "is there"
        found.append(Finding(kind="private", file=folder, why=f"{folder}/ is not for students, but {when} ({count})"))
    return found


def injected_findings(course: Course) -> list[Finding]:
    return [
        Finding(
            kind="injected",
            file=journal.changes[0].path if journal.changes else journal.assignment,
            part=journal.assignment,
            why=f"the solution stands in the starter's place; run `goldsmith reset {journal.assignment}`",
        )
        for journal in journals(course)
    ]


def _secrets(assignment: Assignment) -> Iterator[Secret]:
    course = assignment.course
    written = _written(assignment)
    try:
        implementations = [placements(assignment), *variants_of(assignment).values()]
    except GoldsmithError:
        return  # an assignment without a solution has nothing to hide
    seen = set()
    for placed in implementations:
        for item in placed:
            if item.source in seen or item.target.suffix != ".py" or item.target.name == course.config.recipe:
                continue
            seen.add(item.source)
            name = course.relative(item.source).as_posix()
            stem = item.target.stem
            names = [part.removeprefix(f"{stem}.") for part in written if part.startswith(f"{stem}.")]
            yield from secrets_of(name, item.source.read_bytes(), _starter(assignment, item.target.as_posix()), names)


def _starter(assignment: Assignment, target: str) -> bytes | None:
    """The starter's file as students are meant to get it: from before an injection, as committed, or as it stands."""
    course = assignment.course
    path = course.relative(assignment.starter / target)
    kept = before_injection(course, assignment.name, path.as_posix())
    if kept is not None:
        return kept
    committed = git(course, "show", f"HEAD:./{path.as_posix()}")
    if committed is not None:
        return committed.encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError):
        return (course.root / path).read_bytes()
    return None


def _written(assignment: Assignment) -> tuple[str, ...]:
    """What was the students' to write when gold was made: known even where the starter has been overwritten since."""
    try:
        return read_manifest(assignment.gold).provenance.written
    except GoldUnreadable:
        return ()


def _gold(assignment: Assignment) -> Iterator[tuple[str, str]]:
    with contextlib.suppress(GoldUnreadable):
        for entry in read_manifest(assignment.gold).files:
            yield entry.sha256, f"{assignment.name}/{entry.name}"


def _private_folder(finding: Finding, guarded: Guarded) -> str | None:
    if finding.kind != "private":
        return None
    path = PurePosixPath(finding.file)
    return next((folder for folder in guarded.private if path.is_relative_to(folder)), None)


def _commit(course: Course, blob: str) -> str:
    """The oldest commit in which a file's content appears."""
    rows = (git(course, "log", "--all", "--format=%h", f"--find-object={blob}") or "").split()
    return rows[-1] if rows else ""

"""Put the solution in place and take it back, so that nothing is ever lost, whatever happens in between.

Backups and new files are on disk before the journal's folder appears. From then on every file is changed by one rename,
and a later command that finds an unfinished journal can undo it. Only files that still are as injected are replaced;
anything else is the user's work.

The caller holds the course's lock.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.courses.layout.journal import (
    BEFORE,
    INCOMING,
    Change,
    FileState,
    Journal,
    discard_journal,
    journal_folder,
    journals,
    make_aside,
    read_journal,
    state_of,
    tidy,
    write_journal,
)
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import starter_module
from goldsmith.errors.course import Unreadable
from goldsmith.errors.injection import CannotInject, CannotReset, EditedMeanwhile, MovedMeanwhile, NotebookNotInjected
from goldsmith.foundation.atomic_files import copy_durably, move_durably, new_token, partial_of, sync_folder
from goldsmith.foundation.git import uncommitted
from goldsmith.foundation.ownership import remove_made
from goldsmith.foundation.signals import uninterrupted
from goldsmith.targets.target import Placement


@dataclass(frozen=True)
class Injected:
    """The result of an injection, or of one done `already`; `uncommitted` are files that git lacks, backed up."""

    journal: Journal
    already: bool = False
    uncommitted: tuple[str, ...] = ()


def inject(assignment: Assignment, placed: Sequence[Placement]) -> Injected:
    """Put the solution's files over the starter's; if that fails half-way, put everything back."""
    course = assignment.course
    recover(course)
    journal = read_journal(course, assignment.name)
    if journal is not None:
        return Injected(journal, already=True)
    folder = journal_folder(course, assignment.name)
    uncommitted = _uncommitted(assignment)
    try:
        with uninterrupted():
            tidy(course)
            journal = _prepare(assignment, placed, folder)
            try:
                _apply(course.root, folder, journal)
                journal = msgspec.structs.replace(journal, state="injected")
                write_journal(folder, journal)
            except OSError:
                _undo(course, folder, journal)
                raise
    except OSError as error:
        with contextlib.suppress(OSError):
            tidy(course)
        raise CannotInject(assignment.name, _place(course, error), error.strerror or str(error)) from None
    except UnicodeError:
        tidy(course)
        raise CannotInject(assignment.name, course.relative(assignment.solution), "a name there is not text") from None
    return Injected(journal, uncommitted=uncommitted)


def _uncommitted(assignment: Assignment) -> tuple[str, ...]:
    return tuple(uncommitted(assignment.course.root, str(assignment.starter)))


def _undo(course: Course, folder: Path, journal: Journal) -> None:
    try:
        _restore(course, folder, journal)
    except OSError as error:
        raise CannotReset(journal.assignment, _place(course, error), error.strerror or str(error)) from None


def before_injection(course: Course, name: str, path: str) -> bytes | None:
    """Return what was at `path` before the solution was injected; None where nothing is kept."""
    journal = read_journal(course, name)
    for number, change in enumerate(journal.changes if journal else ()):
        backup = journal_folder(course, name) / BEFORE / str(number)
        if change.path == path and backup.is_file():
            return backup.read_bytes()
    return None


def edited_since(course: Course, journal: Journal) -> list[Change]:
    """Return what the user changed while it was injected: neither what was there before, nor what was put there."""
    folder = journal_folder(course, journal.assignment)
    return [
        change
        for number, change in enumerate(journal.changes)
        if _is_work(course.root / change.path, journal, change) and not _is_owners(folder, journal, number)
    ]


def _is_work(target: Path, journal: Journal, change: Change) -> bool:
    now = state_of(target)
    if now is None or now.same_content(change.before) or now.same_content(change.after):
        return False
    return now.kind != "file" or now.digest != journal.released.get(change.path)


def _is_owners(folder: Path, journal: Journal, number: int) -> bool:
    """Say whether a path is the user's as it is: an interrupted injection had not reached it, or it is back already."""
    change = journal.changes[number]
    if journal.state == "injecting":
        return (folder / INCOMING / str(number)).exists()
    back = change.before is not None and change.before.kind == "file" and not (folder / BEFORE / str(number)).exists()
    return change.path in journal.restored or (journal.state == "resetting" and back)


def reset(course: Course, name: str, *, release: Mapping[str, str] | None = None) -> Journal | None:
    """Restore everything as it was before `inject`; None when nothing was injected.

    `release` are the contents of edited files, by path, that are kept elsewhere or discarded. Other edits stop it.
    """
    journal = read_journal(course, name)
    if journal is None:
        return None
    folder = journal_folder(course, name)
    with uninterrupted():
        journal = msgspec.structs.replace(journal, released=journal.released | dict(release or {}))
        _refuse_moved(course, journal)
        edited = edited_since(course, journal)
        if edited:
            raise EditedMeanwhile(name, [Path(change.path) for change in edited])
        try:
            journal = msgspec.structs.replace(journal, state="resetting")
            write_journal(folder, journal)
            _restore(course, folder, journal)
            tidy(course)
        except OSError as error:
            raise CannotReset(name, _place(course, error), error.strerror or str(error)) from None
    return journal


def _refuse_moved(course: Course, journal: Journal) -> None:
    """Refuse to reset where a solution was moved while it was in place: it would stay behind."""
    missing = [
        change
        for change in journal.changes
        if change.after is not None
        and not change.after.same_content(change.before)
        and change.path not in journal.restored
        and state_of(course.root / change.path) is None
    ]
    if journal.state != "injected" or not missing:
        return
    below = [path for assignment in course.assignments() for path in assignment.files()]
    if course.assignments_folder != course.root:
        below += course.assignments_folder.rglob("*")
    files = [path for path in below if path.is_file() and path.stat().st_size]
    digests = {state.digest: path for path in files if (state := state_of(path)) is not None}
    for change in missing:
        moved = digests.get(change.after.digest) if change.after else None
        if moved is not None:
            raise MovedMeanwhile(journal.assignment, Path(change.path), course.relative(moved))


def recover(course: Course) -> list[str]:
    """Finish what a killed process left half done; return a sentence for each.

    Raises `EditedMeanwhile` where the user must decide.
    """
    notes = []
    for journal in journals(course):
        if journal.state == "injected":
            continue
        reset(course, journal.assignment)
        what = "inject was undone" if journal.state == "injecting" else "reset was finished"
        notes.append(f"an interrupted {what}: {journal.assignment} is as it was before")
    with contextlib.suppress(OSError):
        tidy(course)
    return notes


# --- one file at a time


def _prepare(assignment: Assignment, placed: Sequence[Placement], folder: Path) -> Journal:
    """Write backups and new files to disk, then make the journal's folder appear by one rename."""
    root = assignment.course.root
    preparing = make_aside(folder)
    try:
        for part in (BEFORE, INCOMING):
            (preparing / part).mkdir(mode=0o700)
        for private in (folder.parent, preparing):
            private.chmod(0o700)
        changes = list(_changes(assignment, placed, preparing))
        _refuse_standing(root, changes)
        journal = Journal(
            assignment=assignment.name,
            state="injecting",
            since=time.strftime("%Y-%m-%d %H:%M"),
            changes=tuple(changes),
            folders=tuple(_new_folders(root, changes)),
            token=new_token(),
        )
        write_journal(preparing, journal)
        sync_folder(preparing / BEFORE)
        sync_folder(preparing / INCOMING)
        os.rename(preparing, folder)
        sync_folder(folder.parent)
    except BaseException:
        remove_made(preparing)
        raise
    return journal


def _changes(assignment: Assignment, placed: Sequence[Placement], preparing: Path) -> Iterator[Change]:
    root = assignment.course.root
    starter = assignment.starter
    goals: list[tuple[Path, Path | None]] = [(_goal(assignment, item), item.source) for item in placed]
    goals += [(starter / name, None) for name in assignment.config.removes]
    taken = {path: journal.assignment for journal in journals(assignment.course) for path in _real_paths(root, journal)}
    for number, (target, source) in enumerate(goals):
        real = target.parent.resolve() / target.name
        if not real.is_relative_to(root.resolve()):
            raise OSError(errno.EXDEV, "a link leads out of the course on the way there", str(target))
        if real in taken:
            raise OSError(errno.EEXIST, f"it belongs to {taken[real]}, too, which is in place", str(target))
        taken[real] = assignment.name
        above = [folder for folder in target.parents if folder.is_relative_to(root)]
        if any(folder.exists() and not folder.is_dir() for folder in above):
            raise OSError(errno.ENOTDIR, "a file is where its folder must be", str(target))
        before = state_of(target)
        if source is None and before is None:
            raise OSError(errno.ENOENT, "`removes` names it, but it is not there", str(target))
        if before is not None and before.kind == "other":
            raise OSError(errno.EISDIR, "it is a folder or something else that is not a file", str(target))
        if before is not None and before.kind == "file":
            copy_durably(target, preparing / BEFORE / str(number), before.mode)
        after = None
        if source is not None:
            after = state_of(source.resolve())
            if after is None or after.kind != "file":
                raise Unreadable(source, "it is not a file")
            copy_durably(source, preparing / INCOMING / str(number), after.mode | 0o200)
            after = state_of(preparing / INCOMING / str(number))
        where = source.relative_to(root).as_posix() if source is not None else None
        path = target.relative_to(root).as_posix()
        (preparing / BEFORE / f"{number}.path").write_text(path + "\n", encoding="utf-8")
        yield Change(path, where, before, after)


def _goal(assignment: Assignment, item: Placement) -> Path:
    """Return the file that a solution's takes the place of: a notebook takes a notebook's."""
    standing = starter_module(assignment, item.target) if item.notebook() is not None else None
    if standing is None or standing.source.suffix == item.source.suffix:
        return assignment.starter / item.target if standing is None else standing.source
    course = assignment.course
    raise NotebookNotInjected(course.relative(item.source), course.relative(standing.source))


def _refuse_standing(root: Path, changes: Sequence[Change]) -> None:
    """Refuse a solution that is in place already without a journal: it would be taken for the starter."""
    replaced = [
        change for change in changes if change.before and change.after and not change.after.same_content(_EMPTY)
    ]
    if replaced and all(change.after and change.after.same_content(change.before) for change in replaced):
        place = str(root / replaced[0].path)
        raise OSError(errno.EEXIST, "it is the solution already; restore the starter from git first", place)


_EMPTY = FileState("file", 0, hashlib.sha256(b"").hexdigest())


def _real_paths(root: Path, journal: Journal) -> list[Path]:
    targets = [root / change.path for change in journal.changes]
    return [target.parent.resolve() / target.name for target in targets]


def _new_folders(root: Path, changes: Sequence[Change]) -> list[str]:
    """Return folders that must be made for added files, outermost first."""
    found: dict[str, None] = {}
    for change in changes:
        above = [folder for folder in (root / change.path).parents if folder.is_relative_to(root)]
        for folder in reversed(above):
            if not folder.exists():
                found[folder.relative_to(root).as_posix()] = None
    return list(found)


def _apply(root: Path, folder: Path, journal: Journal) -> None:
    for name in journal.folders:
        (root / name).mkdir(exist_ok=True)
    for number, change in enumerate(journal.changes):
        target = root / change.path
        if state_of(target) != change.before:
            raise OSError(errno.EBUSY, "it was changed just now", str(target))
        if change.after is not None:
            move_durably(folder / INCOMING / str(number), target, journal.token)
        elif change.before is not None:
            target.unlink()
            sync_folder(target.parent)


def _restore(course: Course, folder: Path, journal: Journal) -> None:
    """Put every path back as before and check it, then remove the journal."""
    root = course.root
    placed = []
    for number, change in enumerate(journal.changes):
        target = root / change.path
        if journal.token:
            with contextlib.suppress(OSError):
                partial_of(target, journal.token).unlink(missing_ok=True)
        if _is_owners(folder, journal, number) and not _holds_solution(target, change):
            continue
        if _is_work(target, journal, change):
            raise OSError(errno.EBUSY, "it was changed just now", str(target))
        placed.append(change)
        _put_back(target, change.before, folder / BEFORE / str(number), journal.token)
        _forget_bytecode(target)
        if journal.state == "resetting":
            journal = msgspec.structs.replace(journal, restored=(*journal.restored, change.path))
            write_journal(folder, journal)
    for name in reversed(journal.folders):
        with contextlib.suppress(OSError):
            (root / name).rmdir()
    wrong = [change for change in placed if state_of(root / change.path) != change.before]
    if wrong:
        raise OSError(errno.EBUSY, "it was changed just now", str(root / wrong[0].path))
    discard_journal(folder)


def _holds_solution(target: Path, change: Change) -> bool:
    now = state_of(target)
    return now is not None and now.same_content(change.after) and not now.same_content(change.before)


def _put_back(target: Path, before: FileState | None, backup: Path, token: str) -> None:
    now = state_of(target)
    if now == before:
        return
    if before is None:
        target.unlink()
        sync_folder(target.parent)
    elif before.kind == "link":
        link = backup.with_name(f"{backup.name}.link")
        link.unlink(missing_ok=True)
        link.symlink_to(before.digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(link, target)
    elif now is not None and now.same_content(before):
        target.chmod(before.mode)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        move_durably(backup, target, token)


def _forget_bytecode(target: Path) -> None:
    """Remove the bytecode that Python compiled from an injected file: it is the solution, too."""
    if target.suffix != ".py":
        return
    cache = target.parent / "__pycache__"
    pattern = re.compile(rf"{re.escape(target.stem)}\.[a-z]+-?[0-9]+[a-z0-9-]*(\.opt-[a-z0-9]+)?\.pyc")
    compiled = [item for item in cache.glob("*.pyc") if pattern.fullmatch(item.name)]
    for item in compiled:
        item.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        if compiled:
            cache.rmdir()


def _place(course: Course, error: OSError) -> Path:
    name = error.filename2 or error.filename
    return course.relative(Path(name)) if name else course.relative(course.state_folder)

"""Open each submission as plain files, and compute its digest.

Links in submissions are never followed. Paths that staff wrote themselves are resolved once: a single argument, or the
folder that contains all submissions.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from goldsmith.courses.grade.archives import is_archive, unpack
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.submissions.canvas_names import submitted_name
from goldsmith.courses.submissions.open_submission import (
    open_revision,
    open_submission,
    places_of,
    private_place,
    wanted_files,
)
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import NothingToCheck, SubmissionIsLink, SubmissionIsPrivate, SubmissionLeaves
from goldsmith.errors.course import Unreadable
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.grade import BadArchive
from goldsmith.foundation.beneath import open_beneath, open_folder
from goldsmith.judge.bounds import MAX_BYTES
from goldsmith.targets.target import Placement, Submission
from goldsmith.workspace.temporary import private_folder

SUBMISSION_ERRNOS = (errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)
"""System errors that a submission's names and folders can cause, and that affect no other submission."""


@dataclass(frozen=True)
class SubmissionRef:
    """One submission: `what` is a path, or a git `revision`; `name` is what people call it. Below `place`, the folder
    in which it was submitted, no link is followed; by default that is the folder around it, or `what` itself where that
    is the only argument. `course` is the root of the course that it was submitted to, which may be graded against a
    copy of itself. `together` are all its files, if Canvas has put several next to those of others."""

    name: str
    what: str
    revision: bool = False
    place: str = ""
    course: str = ""
    together: tuple[str, ...] = ()


def hidden_paths(assignment: Assignment, items: Sequence[SubmissionRef]) -> tuple[Path, ...]:
    """List where in the course submissions lie, relative to its root, so that none can read another. Workspaces never
    contain grades anyway."""
    paths = [Path(path) for item in items if not item.revision for path in (item.together or (item.what,))]
    return places_of(assignment, paths)


@contextlib.contextmanager
def opened(assignment: Assignment, item: SubmissionRef) -> Iterator[Submission]:
    """Open a submission's files, unpacking an archive. All are copies, so that they cannot change while they are
    judged."""
    course = Course(Path(item.course), assignment.course.config) if item.course else assignment.course
    with contextlib.ExitStack() as stack:
        if item.revision:
            yield stack.enter_context(open_revision(assignment, course, item.what, item.name))
            return
        path = Path(os.path.abspath(item.what))
        place = Path(os.path.abspath(item.place)) if item.place else path.parent
        if goes_by_link(path, item.place):
            raise SubmissionIsLink(item.name)
        private = private_place(course, path)
        if private is not None:
            raise SubmissionIsPrivate(item.name, private)
        temporary_folder = stack.enter_context(private_folder())
        folder = temporary_folder / "handed-in"
        if item.together:
            _copy_together(assignment, item, course, place, folder)
            yield stack.enter_context(open_submission(assignment, str(folder), item.name))
            return
        if is_archive(path):
            archive = temporary_folder / "archive" / path.name
            folder.mkdir()
            real = path.resolve()
            around, inside = (real.parent, real.name) if path == place else (place, path.relative_to(place))
            try:
                source = stack.enter_context(_open_plain(around, inside))
            except OSError as error:
                raise BadArchive(path.name, f"it cannot be read ({error.strerror or error})") from None
            if os.fstat(source.fileno()).st_size > MAX_BYTES:
                raise BadArchive(path.name, f"it holds more than {MAX_BYTES // 2**20} MiB")
            _copy(source, archive)
            unpack(archive, folder)
            yield stack.enter_context(open_submission(assignment, str(folder), item.name))
            return
        with open_submission(assignment, str(path), item.name) as submission:
            placed = _copied(submission, item, course, path.resolve(), temporary_folder)
        yield replace(submission, placed=placed)


def _copy_together(assignment: Assignment, item: SubmissionRef, course: Course, place: Path, folder: Path) -> None:
    """Copy a student's files into one folder, each under the name that it was submitted under."""
    size = 0
    wanted = wanted_files(assignment)
    paths = [Path(os.path.abspath(path)) for path in item.together]
    for path in sorted(paths, key=lambda path: submitted_name(path.name, wanted, again=True) not in wanted):
        if goes_by_link(path, item.place):
            raise SubmissionIsLink(item.name)
        target = folder / submitted_name(path.name, wanted)
        if target.exists():
            target = folder / submitted_name(path.name, wanted, again=True)
        if target.exists():
            raise NothingToCheck(item.name, f"two of its files are called {target.name}", wanted)
        try:
            _refuse_second_names(item, course, path)
            source = _open_plain(place, path.relative_to(place))
        except OSError as error:
            raise Unreadable(path, error.strerror or str(error)) from None
        with source:
            size += os.fstat(source.fileno()).st_size
            if size > MAX_BYTES:
                raise BadArchive(item.name, f"it holds more than {MAX_BYTES // 2**20} MiB")
            _copy(source, target)


def goes_by_link(path: Path, place: str) -> bool:
    """Return whether there is a link on the way from `place`, or the folder around it, to a path."""
    whole = Path(os.path.abspath(path))
    around = Path(os.path.abspath(place)) if place else whole.parent
    return any(part.is_symlink() for part in (whole, *whole.parents) if part != around and part.is_relative_to(around))


def _copied(
    submission: Submission, item: SubmissionRef, course: Course, path: Path, temporary_folder: Path
) -> tuple[Placement, ...]:
    """Copy the submission's files, each read once from below the submitted folder or next to the submitted file."""
    around = path if path.is_dir() else path.parent
    found = []
    for number, placed in enumerate(submission.placed):
        copy = temporary_folder / str(number) / placed.source.name
        real = Path(os.path.realpath(placed.source))
        if not real.is_relative_to(around):
            raise SubmissionLeaves(item.name, placed.target)
        try:
            _refuse_second_names(item, course, real)
            source = _open_plain(around, real.relative_to(around))
        except OSError as error:
            raise Unreadable(placed.target, error.strerror or str(error)) from None
        with source:
            _copy(source, copy)
        found.append(replace(placed, source=copy))
    return tuple(found)


def _refuse_second_names(item: SubmissionRef, course: Course, file: Path) -> None:
    """Refuse hard links to the course's private files."""
    status = file.lstat()
    if status.st_nlink > 1:
        for private in (*course.solution_folders, course.fixtures_folder):
            for own in private.rglob("*"):
                if own.is_file() and os.path.samestat(own.stat(), status):
                    raise SubmissionIsPrivate(item.name, course.relative(private))


def _open_plain(around: Path, inside: str | Path) -> IO[bytes]:
    """Open a plain file that lies in a folder, without following links or blocking."""
    folder = open_folder(around)
    try:
        number = open_beneath(folder, inside, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("it is no plain file")
    return os.fdopen(number, "rb")


def _copy(source: IO[bytes], target: Path) -> None:
    try:
        target.parent.mkdir(exist_ok=True)
        with target.open("xb") as goal:
            shutil.copyfileobj(source, goal)
        target.chmod(stat.S_IMODE(os.fstat(source.fileno()).st_mode) | stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise CannotWrite(target.parent, error.strerror or str(error)) from None


def digest_of(submission: Submission) -> str:
    """Return a digest that is the same for the same files under the same names, however they were submitted."""
    total = hashlib.sha256()
    for item in sorted(submission.placed, key=lambda placed: placed.target.as_posix()):
        try:
            content = _content_digest(item)
        except OSError as error:
            raise Unreadable(item.target, error.strerror or str(error)) from None
        total.update(f"{item.target.as_posix()!r} {content}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def digest_if_opened(assignment: Assignment, item: SubmissionRef) -> str:
    """Return the digest of a submission that is opened for this alone; nothing where that cannot be done."""
    try:
        with opened(assignment, item) as submission:
            return digest_of(submission)
    except CannotWrite:
        raise
    except GoldsmithError:
        return ""
    except OSError as error:
        if error.errno not in SUBMISSION_ERRNOS:
            raise
        return ""


def _content_digest(item: Placement) -> str:
    """Hash a file as it will be placed: of a notebook, its definitions and what is said about them, and not its
    outputs."""
    module = item.notebook()
    if module is not None:
        said = repr((item.source.name, module.notes, sorted(module.missing.items())))
        return hashlib.sha256(module.source + said.encode("utf-8", "surrogateescape")).hexdigest()
    with item.source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

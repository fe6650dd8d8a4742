"""Collect the submissions that a command line names, open each as plain files, and compute its digest.

Links in submissions are never followed. Paths that staff wrote themselves are resolved once: a single argument, or the
folder that contains all submissions.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from goldsmith.check.bounds import MAX_BYTES
from goldsmith.check.canvas_names import student_id, submitted_name
from goldsmith.check.submissions import (
    Submission,
    open_revision,
    open_submission,
    places_of,
    private_place,
    wanted_files,
)
from goldsmith.course.git import git
from goldsmith.course.ignored_names import GRADES, GRADES_MARK, LITTER
from goldsmith.course.layout import Assignment, Course
from goldsmith.course.solutions import Placement, module_of
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import (
    NoSuchSubmission,
    NothingToCheck,
    SubmissionIsLink,
    SubmissionIsPrivate,
    SubmissionLeaves,
)
from goldsmith.errors.course import Unreadable
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.grade import BadArchive, NothingHandedIn
from goldsmith.foundation.beneath import open_beneath, open_folder
from goldsmith.grade.archives import is_archive, unpack
from goldsmith.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.workspace.temporary import private_folder


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


def collect(assignment: Assignment, arguments: Sequence[str], refs: Sequence[str]) -> list[SubmissionRef]:
    """List every submission that the arguments name, in order: folders, files, archives, revisions, or a folder of
    such."""
    found: list[SubmissionRef] = []
    course = str(assignment.course.root)
    place = _place_of_all([argument for argument in arguments if os.path.lexists(argument)])
    alone = len(arguments) == 1
    for argument in arguments:
        path = Path(argument)
        by_link = not alone and _goes_by_link(path, place)
        if path.is_dir() and not by_link and not _is_one(assignment, path, alone=alone):
            inside = _handed_in_at(path)
            if not inside:
                raise NothingHandedIn(argument)
            found += _refs_in(path, inside, course)
        elif os.path.lexists(path):
            name = _stem(Path(os.path.realpath(path) if alone else os.path.abspath(path)))
            found.append(SubmissionRef(name, str(path), place=str(path) if alone else place, course=course))
        elif _is_revision(assignment, argument):
            found.append(SubmissionRef(argument, argument, revision=True, course=course))
        else:
            raise NoSuchSubmission(argument)
    for pattern in refs:
        matching = [name for name in _branches(assignment) if fnmatch.fnmatchcase(_short(name), pattern)]
        if not matching:
            raise NothingHandedIn(f"--refs {pattern}")
        found += [SubmissionRef(_short(name), name, revision=True, course=course) for name in matching]
    if not found:
        raise NothingHandedIn("the command line")
    return _disambiguate(list(dict.fromkeys(found)))


def _place_of_all(arguments: Sequence[str]) -> str:
    """Return the folder that several paths lie in; empty where that is only the file system's root."""
    absolute = [os.path.abspath(argument) for argument in arguments]
    if len(absolute) < 2:
        return ""
    common = os.path.commonpath(absolute)
    return "" if common == os.path.dirname(common) else common


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
        if _goes_by_link(path, item.place):
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


def _refs_in(folder: Path, inside: Sequence[Path], course: str) -> Iterator[SubmissionRef]:
    """Yield the submissions in a folder. Files of code that Canvas named after one student are one submission."""
    by_student: dict[str, list[Path]] = {}
    for item in inside:
        is_code = item.suffix in (".py", NOTEBOOK) and not item.is_dir()
        by_student.setdefault((student_id(item.name) if is_code else "") or str(item), []).append(item)
    for items in by_student.values():
        together = tuple(map(str, items)) if len(items) > 1 else ()
        yield SubmissionRef(_stem(items[0]), str(items[0]), place=str(folder), course=course, together=together)


def _copy_together(assignment: Assignment, item: SubmissionRef, course: Course, place: Path, folder: Path) -> None:
    """Copy a student's files into one folder, each under the name that it was submitted under."""
    size = 0
    wanted = wanted_files(assignment)
    paths = [Path(os.path.abspath(path)) for path in item.together]
    for path in sorted(paths, key=lambda path: submitted_name(path.name, wanted, again=True) not in wanted):
        if _goes_by_link(path, item.place):
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


def _goes_by_link(path: Path, place: str) -> bool:
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


def _content_digest(item: Placement) -> str:
    """Hash a file as it will be placed: of a notebook, its definitions and what is said about them, and not its
    outputs."""
    module = item.notebook()
    if module is not None:
        said = repr((item.source.name, module.notes, sorted(module.missing.items())))
        return hashlib.sha256(module.source + said.encode("utf-8", "surrogateescape")).hexdigest()
    with item.source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_one(assignment: Assignment, folder: Path, *, alone: bool) -> bool:
    """Return whether a folder is a submission itself. A single argument that contains one submission and nothing else
    is a class of one, named after that submission, unless that is only the assignment's name; so is one with a single
    notebook that is not called like a file of the assignment's."""
    inside = _handed_in_at(folder)
    if alone and len(inside) == 1 and inside[0].suffix == NOTEBOOK and inside[0].is_file():
        return module_of(inside[0]).name in wanted_files(assignment)
    if alone and len(inside) == 1 and inside[0].is_dir() and inside[0].name != assignment.name:
        return not _can_be_opened(assignment, inside[0]) and _can_be_opened(assignment, folder)
    return _can_be_opened(assignment, folder)


def _can_be_opened(assignment: Assignment, folder: Path) -> bool:
    try:
        with open_submission(assignment, str(folder)):
            return True
    except GoldsmithError:
        return False


def _handed_in_at(folder: Path) -> list[Path]:
    """List what may be a submission in a folder, without what an earlier run has written there."""
    ours = GRADES if (folder / GRADES_MARK).exists() else ()
    return [item for item in sorted(folder.iterdir()) if item.name not in ours and _may_be_one(item)]


def _may_be_one(path: Path) -> bool:
    if path.name in LITTER or path.name.startswith("."):
        return False
    return path.is_dir() or is_archive(path) or path.suffix in (".py", NOTEBOOK)


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".zip", ".gz", ".bz2", ".xz", ".tgz", ".tbz2", ".txz", ".tar", ".py", NOTEBOOK):
        if path.is_file() and name.lower().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return name


def _disambiguate(found: list[SubmissionRef]) -> list[SubmissionRef]:
    """Give submissions of the same name as much of their path, from its end, as makes them unique."""
    counts = Counter(item.name for item in found)
    ends_of = {item.what: _ends(Path(item.what)) for item in found if counts[item.name] > 1}
    shared = Counter(end for ends in ends_of.values() for end in ends)

    def name(what: str) -> str:
        ends = ends_of[what]
        return next((end for end in ends if shared[end] == 1), ends[-1])

    return [item if counts[item.name] == 1 else replace(item, name=name(item.what)) for item in found]


def _ends(path: Path) -> list[str]:
    """List longer and longer ends of a path."""
    parts = [part for part in path.parts if part != path.anchor]
    return ["/".join(parts[begin:]) for begin in reversed(range(len(parts)))] or [str(path)]


def _is_revision(assignment: Assignment, name: str) -> bool:
    command = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return not name.startswith("-") and git(assignment.course, *command) is not None


def _branches(assignment: Assignment) -> list[str]:
    listed = git(assignment.course, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
    return sorted(line for line in (listed or "").splitlines() if line and not line.endswith("/HEAD"))


def _short(reference: str) -> str:
    """Return a branch or tag as people call it. Git is always given the full name: the short one may be a path, another
    reference, or look like a commit."""
    return reference.split("/", 2)[2]

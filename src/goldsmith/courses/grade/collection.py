"""Find the submissions that a command line names: which folder is one, which is a class, and which of its entries are
none.

Every entry of a class folder is in exactly one submission, or is left out for a reason.
"""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.courses.grade.archives import SUFFIXES, is_archive
from goldsmith.courses.grade.overview import named
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.submissions import SubmissionRef, goes_by_link, opened
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.solutions import CourseFile, module_of
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.submissions.canvas_names import group_by_student
from goldsmith.courses.submissions.file_choice import is_as_given, parts_to_write, stands_for
from goldsmith.courses.submissions.open_submission import files_at, find_home, open_submission, wanted_files
from goldsmith.courses.submissions.size_limits import files_below
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import NoSuchSubmission
from goldsmith.errors.course import Unreadable
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.grade import BadArchive, NothingHandedIn, OneOrClass
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.foundation.git import git
from goldsmith.foundation.ignored_names import GRADES, GRADES_MARK, LITTER
from goldsmith.judge.bounds import MAX_CODE_BYTES
from goldsmith.source_code.parts import parse, same_code
from goldsmith.targets.target import SOLUTION_SUFFIX

Reading = Literal["", "one", "class"]
"""What folders on the command line are: a submission each, or a class each; by default what they look like."""
_CODE = (".py", NOTEBOOK)
_HANDED_IN = (*_CODE, *SUFFIXES, ".gz", ".bz2", ".xz", ".zst", ".rar", ".7z")
"""How files end that somebody may have submitted, if only in a form that cannot be opened."""
_CLOSED = (".rar", ".7z")
_NAME_ENDS = (".zip", ".gz", ".bz2", ".xz", ".tgz", ".tbz2", ".txz", ".tar", *_CODE)


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a class folder that is in no submission."""

    folder: str
    """The class folder."""
    name: str
    """The entry."""
    why: str
    """Why it is in no submission."""


@dataclass
class Collected:
    """Everything that the arguments name: the submissions, in order; entries that are none; and folders that were read
    as one submission although they hold more than the assignment's own files."""

    items: list[SubmissionRef] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    as_one: list[str] = field(default_factory=list)


def collect(
    assignment: Assignment, arguments: Sequence[str], refs: Sequence[str], *, reading: Reading = ""
) -> Collected:
    """Find every submission that the arguments name: folders, files, archives, revisions, or class folders of such."""
    found = Collected()
    course = str(assignment.course.root)
    place = _place_of_all([argument for argument in arguments if os.path.lexists(argument)])
    alone = len(arguments) == 1
    for argument in arguments:
        path = Path(argument)
        if path.is_dir() and (alone or not goes_by_link(path, place)):
            entries = _entries(path)
            others: list[Path] | None = [] if reading == "one" else None
            if not reading:
                others = _beside_one(assignment, path, [item for item, why in entries.items() if not why], alone=alone)
            if others is None:
                _add_class(found, path, entries, course)
                continue
            found.as_one += [one_line(argument)] if others else []
        if os.path.lexists(path):
            name = _stem(Path(os.path.realpath(path) if alone else os.path.abspath(path)))
            found.items.append(SubmissionRef(name, str(path), place=str(path) if alone else place, course=course))
        elif _is_revision(assignment, argument):
            found.items.append(SubmissionRef(argument, argument, revision=True, course=course))
        else:
            raise NoSuchSubmission(argument)
    for pattern in refs:
        matching = [name for name in _branches(assignment) if fnmatch.fnmatchcase(_short(name), pattern)]
        if not matching:
            raise NothingHandedIn(f"--refs {pattern}")
        found.items += [SubmissionRef(_short(name), name, revision=True, course=course) for name in matching]
    if not found.items:
        raise NothingHandedIn("the command line")
    once = {(item.what, item.revision): item for item in reversed(found.items)}  # a class, and one of it by name
    return replace(found, items=_disambiguate([*reversed(once.values())]), left_out=[*dict.fromkeys(found.left_out)])


def _place_of_all(arguments: Sequence[str]) -> str:
    """Return the folder that several paths lie in; empty where that is only the file system's root."""
    absolute = [os.path.abspath(argument) for argument in arguments]
    if len(absolute) < 2:
        return ""
    common = os.path.commonpath(absolute)
    return "" if common == os.path.dirname(common) else common


# --- class folders ---------------------------------------------------------------------------------------------------


def _entries(folder: Path) -> dict[Path, str]:
    """List everything in a folder, with why it is no submission; "" where it may be one."""
    try:
        ours = GRADES if (folder / GRADES_MARK).exists() else frozenset[str]()
        with os.scandir(folder) as entries:
            found = {folder / entry.name: _why_left_out(entry, ours) for entry in entries}
    except OSError as error:
        raise Unreadable(folder, error.strerror or str(error)) from None
    return {path: found[path] for path in sorted(found)}


def _may_be_graded(folder: Path) -> list[Path]:
    return [path for path, why in _entries(folder).items() if not why]


def _why_left_out(entry: os.DirEntry[str], ours: frozenset[str]) -> str:
    if entry.name in ours:
        return "goldsmith wrote it there in an earlier run"
    if entry.name in LITTER or entry.name.startswith("."):
        return "it is hidden, or what a program left behind"
    if entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.name.lower().endswith(_HANDED_IN):
        return ""
    return "it is not a folder, an archive, a notebook or a Python file"


def _add_class(found: Collected, folder: Path, entries: dict[Path, str], course: str) -> None:
    """Add the submissions in a class folder, and what is none. Files of code that Canvas named after one student are
    one submission."""
    inside = [path for path, why in entries.items() if not why]
    if not inside:
        raise NothingHandedIn(str(folder))
    files = [path.name for path in inside if path.suffix.lower() in _CODE and (path.is_symlink() or not path.is_dir())]
    first_of = {name: group for group in group_by_student(files) for name in group[:1]}
    items = []
    for path in inside:
        if path.name in files and path.name not in first_of:
            continue
        together = [str(folder / name) for name in first_of.get(path.name, ())]
        more = tuple(together) if len(together) > 1 else ()
        items.append(SubmissionRef(_stem(path), str(path), place=str(folder), course=course, together=more))
    outside = {path: why for path, why in entries.items() if why}
    in_items = [what for item in items for what in (item.together or (item.what,))]
    if sorted([*in_items, *map(str, outside)]) != sorted(map(str, entries)):
        raise AssertionError(f"not every entry of {folder} is in one submission or left out")
    found.items += items
    found.left_out += [
        LeftOut(folder=one_line(str(folder)), name=one_line(path.name), why=why) for path, why in outside.items()
    ]


def notes_of(left_out: Sequence[LeftOut], as_one: Sequence[str]) -> Iterator[str]:
    """Yield what staff should know about how submissions were found."""
    by_folder: dict[str, list[str]] = {}
    for item in left_out:
        by_folder.setdefault(item.folder, []).append(item.name)
    for folder, names in by_folder.items():
        what = "1 entry" if len(names) == 1 else f"{len(names)} entries"
        yield f"{what} of {folder} left out: {named(names)}"
    if as_one:
        yield f"read as one submission, not as a class: {named(as_one)} (--class if that is wrong)"


# --- one or many -----------------------------------------------------------------------------------------------------


def _beside_one(assignment: Assignment, folder: Path, inside: Sequence[Path], *, alone: bool) -> list[Path] | None:
    """Return what lies beside the assignment's own files in a folder that is one submission, None where it is a class;
    raise where it may be either.

    A single argument that contains one submission and nothing else is a class of one, named after that submission,
    unless that is only the assignment's name; so is one with a single notebook that is not called like a file of the
    assignment's.
    """
    wanted = wanted_files(assignment)
    if alone and len(inside) == 1 and inside[0].suffix == NOTEBOOK and inside[0].is_file():
        return [] if module_of(inside[0]).name in wanted else None
    if alone and len(inside) == 1 and inside[0].is_dir() and inside[0].name != assignment.name:
        if _can_be_opened(assignment, inside[0]):
            _beside_one(assignment, inside[0], _may_be_graded(inside[0]), alone=False)  # it may be a class itself
            return None
        return [] if _can_be_opened(assignment, folder) else None
    if not _can_be_opened(assignment, folder):
        return None
    written = [name for name in wanted if parts_to_write(assignment, name)] or wanted
    home, _ = find_home(assignment, folder.resolve())
    if home != folder.resolve() and home.resolve().is_relative_to(folder.resolve()):
        inside = [*inside, *_may_be_graded(home)]
    modules = {module_of(path).name for path in home.glob(f"*{NOTEBOOK}")}
    by_name = bool(files_at(home, written) or modules.intersection(written))
    notebooks = [path for path in inside if path.suffix == NOTEBOOK]
    own = set(notebooks) if len(notebooks) == 1 and not by_name else set()
    own |= {path for path in inside if _is_the_starters(assignment, home, path.parent.resolve() / path.name, wanted)}
    others = [path for path in inside if path not in own]
    other = next((path for path in others if _may_be_another(assignment, path)), _second_work(assignment, own, wanted))
    if other is not None and not by_name:  # a notebook of any name is no more the assignment's than what lies beside it
        return None
    other = other or (None if by_name else next(filter(_holds_code, others), None))
    if other is not None:
        raise OneOrClass(one_line(str(other.parent)), one_line(other.name))
    return others


def _is_the_starters(assignment: Assignment, home: Path, path: Path, wanted: Sequence[str]) -> bool:
    """Say whether what lies next to `home`, or in it, has the place of something in the course or its starter."""
    course, starter = assignment.course, assignment.starter
    if home != path.parent:
        is_fork = home == path.parent / course.relative(starter)
        return home.is_relative_to(path) or (is_fork and os.path.lexists(course.root / path.name))
    name = module_of(Path(path.name)) if path.suffix == NOTEBOOK else Path(path.name)
    parts = {Path(file).parts[0] for file in wanted}
    return name.name in parts or bool(stands_for(name, wanted)) or os.path.lexists(starter / path.name)


def _second_work(assignment: Assignment, own: Collection[Path], wanted: Sequence[str]) -> Path | None:
    """Return a file that is called as browsers and systems call the second of a name, with other work in it: next to
    one's own file it may be somebody else's."""
    of_place: dict[str, list[CourseFile]] = {}
    for path in sorted(own):
        if path.suffix.lower() == ".py" and path.is_file() and not path.name.endswith(SOLUTION_SUFFIX):
            item = CourseFile(path, Path(stands_for(Path(path.name), wanted) or path.name))
            if not is_as_given(assignment, item, item.target.as_posix()):
                of_place.setdefault(item.target.as_posix(), []).append(item)
    pairs = ((items[0], item) for items in of_place.values() for item in items[1:])
    return next((item.source for first, item in pairs if not _are_same(first, item)), None)


def _are_same(one: CourseFile, other: CourseFile) -> bool:
    is_short = max(one.source.stat().st_size, other.source.stat().st_size) <= MAX_CODE_BYTES
    return is_short and same_code(one.read(), other.read())


def _may_be_another(assignment: Assignment, path: Path) -> bool:
    """Say whether an entry of what may be one submission could be a submission itself: it can be opened, or it should
    be looked at why not, or code in it defines what students write, or cannot be parsed. Of a notebook, only that
    counts: others run the code next to them."""
    if path.is_symlink():
        return False
    if path.name.lower().endswith(_CLOSED) and path.is_file():
        return True
    try:
        if is_archive(path):
            with opened(assignment, SubmissionRef(path.name, str(path))):
                return True
        with open_submission(assignment, str(path)):
            if path.suffix != NOTEBOOK:
                return True
    except (BadArchive, BadNotebook):
        return True
    except CannotWrite:
        raise
    except (GoldsmithError, OSError):
        pass
    files = files_below(path, path.name) if path.is_dir() else [path]
    return any(_may_define_work(assignment, file) for file in files if file.suffix.lower() in _CODE and file.is_file())


def _may_define_work(assignment: Assignment, file: Path) -> bool:
    """Say whether code defines what students write, or nobody can tell."""
    to_write = set[str]().union(*(parts_to_write(assignment, name) for name in wanted_files(assignment)))
    try:
        if file.stat().st_size > MAX_CODE_BYTES:
            return True
        parsed = parse(CourseFile(file, Path("module.py")).read())
        return parsed is None or not to_write.isdisjoint(parsed.parts)
    except (BadNotebook, MemoryError, RecursionError):
        return True
    except OSError:
        return False


def _holds_code(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        return True
    names = (name for _, _, files in os.walk(path) for name in files)
    return any(name.lower().endswith(_HANDED_IN) for name in names)


def _can_be_opened(assignment: Assignment, folder: Path) -> bool:
    try:
        with open_submission(assignment, str(folder)):
            return True
    except (GoldsmithError, OSError):
        return False


# --- names -----------------------------------------------------------------------------------------------------------


def _stem(path: Path) -> str:
    name = path.name
    for suffix in _NAME_ENDS:
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
        return next((end for end in ends if shared[end] == 1 and counts[end] != 1), ends[-1])

    return [item if counts[item.name] == 1 else replace(item, name=name(item.what)) for item in found]


def _ends(path: Path) -> list[str]:
    """List longer and longer ends of a path."""
    parts = [part for part in path.parts if part != path.anchor]
    return ["/".join(parts[begin:]) for begin in reversed(range(len(parts)))] or [str(path)]


# --- revisions -------------------------------------------------------------------------------------------------------


def _is_revision(assignment: Assignment, name: str) -> bool:
    command = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return not name.startswith("-") and git(assignment.course.root, *command) is not None


def _branches(assignment: Assignment) -> list[str]:
    listed = git(
        assignment.course.root, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags"
    )
    return sorted(line for line in (listed or "").splitlines() if line and not line.endswith("/HEAD"))


def _short(reference: str) -> str:
    """Return a branch or tag as people call it. Git is always given the full name: the short one may be a path, another
    reference, or look like a commit."""
    return reference.split("/", 2)[2]

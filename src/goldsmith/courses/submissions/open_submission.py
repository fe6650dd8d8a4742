"""Open what is to be checked: the tree as it stands, a folder or file, or a git revision."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import CourseFile
from goldsmith.courses.layout.starter_modules import starter_modules
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.notebooks.convert import is_notebook_file
from goldsmith.courses.submissions.canvas_names import submitted_name
from goldsmith.courses.submissions.file_choice import choose_files, is_as_given, stands_for, unused_work
from goldsmith.courses.submissions.notebook_modules import with_modules
from goldsmith.courses.submissions.repository_forks import files_handed_in, package_of, to_write
from goldsmith.courses.submissions.size_limits import list_names, list_revision
from goldsmith.errors.check import NoSuchSubmission, NothingToCheck, SubmissionIsPrivate, SubmissionLeaves
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.foundation.git import git, read_blob
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.gold.manifest import read_manifest
from goldsmith.source_code.parts import is_students_code
from goldsmith.targets.target import AS_IT_STANDS, Placement, Submission
from goldsmith.workspace.temporary import private_folder

_CODE = (".py", NOTEBOOK)


def places_of(assignment: Assignment, handed_in: Iterable[Path]) -> tuple[Path, ...]:
    """List where in the course submitted work lies, relative to its root: the largest folders around it that contain
    nothing a check needs."""
    root = assignment.course.root.resolve()
    needed = [assignment.starter.resolve(), *(root / name for name in _reads(assignment))]
    found: dict[Path, None] = {}
    for path in (item.resolve() for item in handed_in if item.exists()):
        around = [place for place in (path, *path.parents) if place != root and place.is_relative_to(root)]
        free = [place for place in around if not any(item.is_relative_to(place) for item in needed)]
        if free:
            found[free[-1].relative_to(root)] = None
    return tuple(found)


def _reads(assignment: Assignment) -> list[str]:
    """List the files of the course that the recipe read when gold was made."""
    try:
        return list(read_manifest(assignment.gold).provenance.reads)
    except GoldUnreadable:
        return []


@contextlib.contextmanager
def open_submission(assignment: Assignment, what: str | None, name: str = "") -> Iterator[Submission]:
    """Open the submission that `what` says: the path if there is one, else a git revision; `name` is what people call
    it, if different. A link is resolved once, and must not lead to solutions or gold."""
    if what is None:
        yield Submission(AS_IT_STANDS, is_tree=True)
        return
    path = Path(what)
    if os.path.lexists(path):
        private = private_place(assignment.course, path)
        if private is not None and not _lies_plainly_in(path, assignment.course, private):
            raise SubmissionIsPrivate(name or what, private)
        opened = _from_path(assignment, _resolve(path), name or what, path.name)
        yield replace(opened, beside=places_of(assignment, [path]))
        return
    with open_revision(assignment, assignment.course, what, name) as submission:
        yield submission


@contextlib.contextmanager
def open_revision(assignment: Assignment, course: Course, revision: str, name: str = "") -> Iterator[Submission]:
    """Open a revision of the git repository that `course` lies in, even if there are paths of that name."""
    with private_folder() as temporary_folder:
        folder = temporary_folder / "submission"
        folder.mkdir()
        if not _extract(assignment, course, revision, folder, name or revision):
            raise NoSuchSubmission(name or revision)
        yield _from_path(assignment, folder.resolve(), name or revision)


def private_place(course: Course, path: Path) -> Path | None:
    """Return the folder of solutions or gold that `path` really lies in, relative to the course."""
    real = _resolve(path)
    for private in (*course.solution_folders, course.fixtures_folder):
        if real.is_relative_to(private.resolve()):
            return course.relative(private)
    return None


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()  # a circular link


def _lies_plainly_in(path: Path, course: Course, private: Path) -> bool:
    """Return whether the path to a private folder was written out, and no link has led there."""
    written = Path(os.path.abspath(path))
    return written.is_relative_to(course.root / private) or written.is_relative_to(course.root.resolve() / private)


def _from_path(assignment: Assignment, path: Path, name: str, called: str = "") -> Submission:
    """Open what lies at `path`, which has been resolved; a lone file may have been `called` something else."""
    if path.is_file():
        wanted = wanted_files(assignment)
        called = submitted_name(called or path.name, wanted)
        if Path(called).suffix.lower() != ".py" and not is_notebook_file(path):
            raise NothingToCheck(name, "it is not a Python file, a notebook or a folder", wanted)
        placed, choices = choose_files(assignment, name, [CourseFile(path, Path(called))], wanted)
        placed, told, _ = with_modules(assignment, name, placed, wanted)
        if not any(str(item.target) in wanted for item in placed):
            raise NothingToCheck(name, f"{called} is not a file that students write", wanted)
        missing = _missing(assignment, placed)
        return Submission(name, tuple(placed), notes=tuple(told), choices=tuple(choices), missing=missing)
    if not path.is_dir():
        raise NothingToCheck(name, "it is neither a file nor a folder", wanted_files(assignment))
    wanted, variants = wanted_files(assignment), assignment.variants
    home, choices = find_home(assignment, path)
    if not _stays(home, path):
        raise SubmissionLeaves(name, home.relative_to(path))
    folder = home.resolve()
    package = package_of(assignment, folder, wanted)
    own = {assignment.course.config.recipe, assignment.course.config.adapter}
    placed = []
    for file in files_handed_in(assignment, folder, name):
        inside = package / file.relative_to(folder)
        if LITTER.intersection(inside.parts) or file.suffix == ".pyc" or inside.as_posix() in own:
            continue
        if not _stays(file, folder):
            raise SubmissionLeaves(name, inside)
        if file.is_file() and not file.is_relative_to(variants):
            placed.append(CourseFile(file, inside))
    placed, chosen = choose_files(assignment, name, placed, wanted)
    placed, told, left = with_modules(assignment, name, placed, wanted)
    if not any(item.target.suffix in _CODE for item in placed):
        raise NothingToCheck(name, "it holds no Python file", wanted)
    if not any(str(item.target) in wanted for item in placed):
        raise NothingToCheck(name, "none of the starter's files is in it", wanted)
    _refuse_folders_for_files(assignment, name, placed, own)
    choices = [*choices, *chosen, *left, *unused_work(assignment, placed, wanted)]
    missing = _missing(assignment, placed)
    return Submission(name, tuple(placed), notes=tuple(told), choices=tuple(choices), missing=missing)


def _missing(assignment: Assignment, placed: Sequence[Placement]) -> tuple[str, ...]:
    """List files of the starter's that are not among those submitted."""
    submitted = {item.target.as_posix() for item in placed}
    return tuple(file for file in to_write(assignment, wanted_files(assignment)) if file not in submitted)


def _refuse_folders_for_files(
    assignment: Assignment, name: str, placed: Sequence[Placement], own: Collection[str]
) -> None:
    """Refuse a folder named like a file of the starter's or the course's `own`, and a file named like a folder."""
    for item in placed:
        for above in item.target.parents:
            if above.as_posix() in own or (assignment.starter / above).is_file():
                raise NothingToCheck(name, f"{above} is a folder in it", wanted_files(assignment))
        if (assignment.starter / item.target).is_dir():
            raise NothingToCheck(name, f"{item.target} is not a folder in it", wanted_files(assignment))


def _stays(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):
        return False  # a circular link


def find_home(assignment: Assignment, folder: Path) -> tuple[Path, list[str]]:
    """Find the assignment's files in a folder: at its top, at their place in a course, or one level down. Where they
    are in several of these, the first counts in which something is written; say which others there are."""
    wanted = wanted_files(assignment)
    in_course = assignment.starter.relative_to(assignment.course.root)
    candidates = [folder, folder / in_course, folder / assignment.name]
    inside = [item for item in folder.iterdir() if item.name not in LITTER and not item.name.startswith(".")]
    if len(inside) == 1 and inside[0].is_dir():
        candidates += [inside[0], inside[0] / in_course]
    found = {candidate: files for candidate in candidates if (files := files_at(candidate, wanted))}
    if not found:
        return next((place for place in candidates if any(place.glob(f"*{NOTEBOOK}"))), folder), []
    home = next(iter(found))
    if len(found) > 1 and _stays(home, folder):
        there = (place for place in found if _stays(place, folder))
        home = next((place for place in there if not _is_all_given(assignment, place, found[place])), home)
    told = [
        f"{(place / file).relative_to(folder)} was not used: {(home / file).relative_to(folder)} was submitted, too"
        for place, files in found.items()
        for file in files
        if not place.is_relative_to(home) and file in found[home]
    ]
    return home, told


def files_at(folder: Path, wanted: Sequence[str]) -> list[str]:
    """List the wanted files that a folder has, if only by another name."""
    plain = [name for name in wanted if (folder / name).is_file()]
    if plain or not folder.is_dir():
        return plain
    places = [place for place in dict.fromkeys(Path(name).parent for name in wanted) if (folder / place).is_dir()]
    files = (place / item.name for place in places for item in sorted((folder / place).iterdir()) if item.is_file())
    return list(dict.fromkeys(name for file in files if (name := stands_for(file, wanted))))


def _is_all_given(assignment: Assignment, folder: Path, files: Iterable[str]) -> bool:
    there = [CourseFile(folder / name, Path(name)) for name in files if (folder / name).is_file()]
    return bool(there) and all(is_as_given(assignment, item, item.target.as_posix()) for item in there)


def _home_in(assignment: Assignment, names: Sequence[str]) -> str | None:
    """Find the assignment's files in a repository that is not a course: at its root, in the folder of that name, or
    else in the only folder that has any of them. A solution is never taken for a submission."""
    folders: dict[str, None] = {}
    for wanted in (name for name in wanted_files(assignment) if Path(name).name != "__init__.py"):
        ends = [name.removesuffix(wanted) for name in names if f"/{name}".endswith(f"/{wanted}")]
        folders |= dict.fromkeys(end.rstrip("/") for end in ends)
    if not folders:
        folders |= dict.fromkeys(name.rpartition("/")[0] for name in names if name.endswith(NOTEBOOK))
    course = assignment.course
    private = [f"/{course.relative(folder).as_posix()}/" for folder in course.solution_folders]
    possible = [folder for folder in folders if not any(name in f"/{folder}/" for name in private)]
    first = [folder for folder in ("", assignment.name) if folder in possible]
    return first[0] if first else possible[0] if len(possible) == 1 else None


def wanted_files(assignment: Assignment) -> list[str]:
    """List the starter's own Python files, which a submission would have; those at the top first."""
    own = {assignment.course.config.recipe, assignment.course.config.adapter}
    inside = [item.target for item in starter_modules(assignment)]
    found = [path for path in inside if path.as_posix() not in own and not LITTER.intersection(path.parts)]
    if assignment.is_whole:
        found = [path for path in found if is_students_code(path.name)]
    return [path.as_posix() for path in sorted(found, key=lambda path: (len(path.parts), path))]


def _extract(assignment: Assignment, course: Course, revision: str, folder: Path, name: str) -> bool:
    """Write the assignment's files as they are in `revision`; return whether there is such a revision."""
    if revision.startswith("-"):
        return False
    commit = (git(course.root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") or "").strip()
    if not commit:
        return False
    starter = assignment.course.relative(assignment.starter)
    prefix = git(course.root, "rev-parse", "--show-prefix")
    place = f"{(prefix or '').strip()}{starter.as_posix()}"
    listed = list_revision(course.root, f"{commit}:{place}", name)
    if listed is None:
        other = _home_in(assignment, list_names(course.root, commit, name))
        listed = None if other is None else list_revision(course.root, f"{commit}:{other}", name)
    if listed is None:
        raise NothingToCheck(name, f"it has no {starter}", wanted_files(assignment))
    for item in listed:  # not `git archive`, which obeys the revision's own attributes
        inside = item.path
        if item.mode == "120000" or inside.startswith("/") or ".." in inside.split("/"):
            raise SubmissionLeaves(name, Path(inside))
        file = folder / inside
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(read_blob(course.root, item.blob, item.size))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise NothingToCheck(name, f"{inside} is a file and a folder in it", wanted_files(assignment)) from None
    return True

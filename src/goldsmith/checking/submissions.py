"""What is to be checked: the tree as it stands, a folder or file of somebody's, or a git revision."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from goldsmith.checking.forks import files_handed_in, package_of, to_write
from goldsmith.course import LITTER, SUFFIX, Assignment, Placement, git, is_students_code
from goldsmith.errors import GoldUnreadable, NoSuchSubmission, NothingToCheck, SubmissionLeaves
from goldsmith.gold import read_manifest
from goldsmith.workspace import make_room

_CODE = (".py", ".ipynb")


@dataclass(frozen=True)
class Submission:
    """`placed` takes the starter's place; nothing is placed when the tree itself is checked. `beside` is where in the
    course others' work may lie, relative to its root."""

    name: str
    placed: tuple[Placement, ...] = ()
    is_tree: bool = False
    notes: tuple[str, ...] = ()
    beside: tuple[Path, ...] = ()


def places_of(assignment: Assignment, handed_in: Iterable[Path]) -> tuple[Path, ...]:
    """Where in the course work that was handed in lies, relative to its root: the largest folders around it that hold
    nothing of what a check needs."""
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
    """What of the course the recipe read when gold was made of it."""
    try:
        return list(read_manifest(assignment.gold).provenance.reads)
    except GoldUnreadable:
        return []


@contextlib.contextmanager
def open_submission(assignment: Assignment, what: str | None, name: str = "") -> Iterator[Submission]:
    """The submission that `what` says, as long as this lasts; `name` is what people call it, if that is another."""
    if what is None:
        yield Submission("the tree as it stands", is_tree=True)
        return
    path = Path(what)
    if path.exists():
        opened = _from_path(assignment, path, name or what)
        yield replace(opened, beside=places_of(assignment, [path]))
        return
    with make_room() as room:
        folder = room / "submission"
        folder.mkdir()
        if not _extract(assignment, what, folder):
            raise NoSuchSubmission(what)
        yield _from_path(assignment, folder, name or what)


def _from_path(assignment: Assignment, path: Path, name: str) -> Submission:
    if path.is_file():
        if path.suffix != ".py":
            raise NothingToCheck(name, "it is no Python file and no folder", _wanted(assignment))
        lone = Placement(path.resolve(), _place(assignment, Path(path.name)))
        if str(lone.target) not in _wanted(assignment):
            raise NothingToCheck(name, f"{path.name} is no file that students write", _wanted(assignment))
        return Submission(name, (lone,))
    if not path.is_dir():
        raise NothingToCheck(name, "it is no file and no folder", _wanted(assignment))
    folder = _home(assignment, path.resolve())
    package = package_of(assignment, folder, _wanted(assignment))
    own = {assignment.course.config.recipe, assignment.course.config.adapter}
    placed = []
    for file in files_handed_in(assignment, folder):
        inside = package / file.relative_to(folder)
        if LITTER.intersection(inside.parts) or file.suffix == ".pyc" or inside.as_posix() in own:
            continue
        if not _stays(file, folder):
            raise SubmissionLeaves(name, inside)
        if file.is_file() and not file.is_relative_to(assignment.variants):
            placed.append(Placement(file, _place(assignment, inside)))
    if not any(item.target.suffix in _CODE for item in placed):
        raise NothingToCheck(name, "it holds no Python file", _wanted(assignment))
    if not any(str(item.target) in _wanted(assignment) for item in placed):
        raise NothingToCheck(name, "none of the starter's files is in it", _wanted(assignment))
    clash = [item.target for item in placed for above in item.target.parents if str(above) in _wanted(assignment)]
    if clash:
        raise NothingToCheck(name, f"{clash[0].parent} is a folder in it", _wanted(assignment))
    kept = [
        file for file in to_write(assignment, _wanted(assignment)) if file not in {str(item.target) for item in placed}
    ]
    notes = [f"{file} is not in it; the starter's was used" for file in kept]
    return Submission(name, tuple(placed), notes=tuple(notes))


def _stays(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):
        return False  # a link that leads in a circle


def _place(assignment: Assignment, inside: Path) -> Path:
    """Where a file goes: a solution's own name, `<name>_solution.py`, stands for `<name>.py`."""
    if inside.name.endswith(SUFFIX):
        plain = inside.with_name(f"{inside.name.removesuffix(SUFFIX)}.py")
        return plain if (assignment.starter / plain).is_file() else inside
    return inside


def _home(assignment: Assignment, folder: Path) -> Path:
    """Where in a folder the assignment's files are: right there, at their place in a course, or one level down."""
    wanted = _wanted(assignment)
    course = assignment.course
    candidates = [folder, folder / course.relative(assignment.starter), folder / assignment.name]
    inside = [item for item in folder.iterdir() if item.name not in LITTER and not item.name.startswith(".")]
    if len(inside) == 1 and inside[0].is_dir():
        candidates += [inside[0], inside[0] / course.relative(assignment.starter)]
    for candidate in candidates:
        if any((candidate / name).is_file() or (candidate / _as_solution(name)).is_file() for name in wanted):
            return candidate.resolve()
    return folder


def _home_in(assignment: Assignment, listed: str) -> str | None:
    """Where the assignment's files are in a repository that is no course: its root, the folder of that name, or else
    the only folder that has any of them. A solution is never taken for somebody's work."""
    folders: dict[str, None] = {}
    names = [name for name in listed.split("\0") if name and not LITTER.intersection(name.split("/"))]
    for wanted in (name for name in _wanted(assignment) if Path(name).name != "__init__.py"):
        ends = [name.removesuffix(wanted) for name in names if f"/{name}".endswith(f"/{wanted}")]
        folders |= dict.fromkeys(end.rstrip("/") for end in ends)
    private = assignment.course.config.solutions
    possible = [folder for folder in folders if f"/{private}/" not in f"/{folder}/"]
    first = [folder for folder in ("", assignment.name) if folder in possible]
    return first[0] if first else possible[0] if len(possible) == 1 else None


def _as_solution(name: str) -> str:
    return f"{name.removesuffix('.py')}{SUFFIX}"


def _wanted(assignment: Assignment) -> list[str]:
    """The starter's own Python files, which a submission would have; those at the top first."""
    own = {assignment.course.config.recipe, assignment.course.config.adapter}
    inside = [item.relative_to(assignment.starter) for item in assignment.files(".py")]
    found = [path for path in inside if path.as_posix() not in own and not LITTER.intersection(path.parts)]
    if assignment.is_whole:
        found = [path for path in found if is_students_code(path.name)]
    return [path.as_posix() for path in sorted(found, key=lambda path: (len(path.parts), path))]


def _extract(assignment: Assignment, revision: str, folder: Path) -> bool:
    """The assignment's files as they are in `revision`; whether there is such a thing."""
    course = assignment.course
    if revision.startswith("-") or git(course, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        return False
    prefix = git(course, "rev-parse", "--show-prefix")
    place = f"{(prefix or '').strip()}{course.relative(assignment.starter).as_posix()}"
    listed = git(course, "ls-tree", "-r", "-z", f"{revision}:{place}")
    if listed is None:
        other = _home_in(assignment, git(course, "ls-tree", "-r", "-z", "--name-only", "--full-tree", revision) or "")
        listed = None if other is None else git(course, "ls-tree", "-r", "-z", "--full-tree", f"{revision}:{other}")
    if listed is None:
        raise NothingToCheck(revision, f"it has no {course.relative(assignment.starter)}", _wanted(assignment))
    for line in filter(None, listed.split("\0")):  # not `git archive`, which obeys the revision's own attributes
        facts, _, name = line.partition("\t")
        mode, kind, blob = facts.split()
        if kind != "blob":
            continue
        if mode == "120000" or name.startswith("/") or ".." in name.split("/"):
            raise SubmissionLeaves(revision, Path(name))
        file = folder / name
        command = ["git", "-C", str(course.root), "cat-file", "blob", blob]
        content = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise NothingToCheck(revision, f"{name} is a file and a folder in it", _wanted(assignment)) from None
    return True

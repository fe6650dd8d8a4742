"""The guard's scan: collect what must not be public from solutions, gold and journals, then look for it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from goldsmith.courses.guard.class_folders import as_class_folders
from goldsmith.courses.guard.code_fragments import pieces_in
from goldsmith.courses.guard.kits import kit_findings
from goldsmith.courses.guard.leaks import (
    Finding,
    Guarded,
    Provided,
    Secret,
    Starter,
    leaks_in,
    private_folder,
    secrets_of,
)
from goldsmith.courses.guard.nested_files import MAX_FILE_BYTES
from goldsmith.courses.guard.public_file import PublicFile
from goldsmith.courses.injection.inject import before_injection
from goldsmith.courses.layout.journal import journals
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import module_of, starter_module
from goldsmith.courses.notebooks.cells import NotANotebook, read_ipynb
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.notebooks.convert import convert
from goldsmith.errors.course import BlindGuard
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.foundation.git import git
from goldsmith.foundation.ignored_names import HANDED_IN, LITTER
from goldsmith.foundation.wording import count_of
from goldsmith.gold.manifest import read_manifest
from goldsmith.source_code.parts import written_by_students
from goldsmith.source_code.unwritten import left_in_all
from goldsmith.targets.target import SOLUTION_SUFFIX
from goldsmith.workspace.snapshot import file_hash


def guarded_by(course: Course, *, everything_public: bool) -> Guarded:
    """Return what this course keeps from students. With `everything_public`, private folders must not be there at all.

    Raises `BlindGuard` where it cannot know: doubt is never an all-clear.
    """
    sources = dict(_solution_files(course))
    secrets = [secret for name, content in sources.items() for secret in _secrets(course, name, content)]
    blind = [
        f"{assignment.name} has no solution with parts that students write in {_solutions_of(assignment)}"
        for assignment in course.assignments()
        if not any(belongs(secret.piece.file, assignment) for secret in secrets)
    ]
    if blind and not secrets:
        raise BlindGuard(blind)
    config = course.config.guard
    stems = frozenset(PurePosixPath(name).stem.removesuffix("_solution") for name in sources)
    return Guarded(
        secrets=secrets,
        copies=_private_copies(course, stems),
        private=course.private_folders if everything_public else [],
        handed_in=() if everything_public else tuple(_handed_in(course)),
        provided=dict(_provided_files(course, sources)),
        stems=stems,
        blind=blind,
        threshold=config.threshold,
        allowed=config.allow,
    )


def _handed_in(course: Course) -> Iterator[str]:
    """Yield the folders at the root that are named after submissions, unless assignments are there."""
    for path in sorted(course.root.iterdir()):
        holds_starters = any(item.starter.is_relative_to(path) for item in course.assignments())
        if path.name in HANDED_IN and path.is_dir() and not holds_starters:
            yield path.name


def _provided_files(course: Course, sources: Mapping[str, bytes]) -> Iterator[tuple[str, Provided]]:
    """Yield for the starters' files what staff give to students there, even if an earlier assignment asks for it: the
    pieces that a file and its solution have in common, and all of a file that has no solution where an earlier
    assignment's file has one."""
    earlier: set[Path] = set()
    for assignment in course.assignments():
        folder = course.relative(assignment.solution).as_posix()
        answered = {_target(assignment, name): name for name in sources if PurePosixPath(name).is_relative_to(folder)}
        for target in sorted(earlier | answered.keys()):
            starter = assignment.starter / target
            if starter.is_file():
                place = course.relative(starter).as_posix()
                given = {(piece.name, piece.grams) for piece in pieces_in(place, starter.read_bytes())}
                if target in answered:
                    name = answered[target]
                    given &= {(piece.name, piece.grams) for piece in pieces_in(name, sources[name])}
                yield place, Provided(folder, frozenset(given))
        earlier |= answered.keys()


def _solutions_of(assignment: Assignment) -> str:
    return assignment.config.solution or assignment.course.config.solutions


def belongs(file: str, assignment: Assignment) -> bool:
    """Say whether a solution file is in the assignment's folder, or in the old flat layout and may be any one's."""
    own = assignment.course.relative(assignment.solution).as_posix()
    flat = PurePosixPath(file).parent.as_posix() == assignment.course.config.solutions
    return flat or PurePosixPath(file).is_relative_to(own)


def _solution_files(course: Course) -> Iterator[tuple[str, bytes]]:
    """Yield every file in the solutions' folders that can hold code, as it is, or as committed if it was deleted."""
    folders = [course.relative(folder).as_posix() for folder in course.solution_folders]
    present = {name: path for folder in folders for name, path in _files_below(course, folder)}
    for name, path in present.items():
        if _holds_code(course, name):
            yield name, path.read_bytes()
    listed = git(course.root, "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *folders) or ""
    for name in filter(None, listed.split("\0")):
        content = (
            git(course.root, "show", f"HEAD:./{name}") if name not in present and _holds_code(course, name) else None
        )
        if content is not None:
            yield name, content.encode("utf-8", "surrogateescape")


def _files_below(course: Course, folder: str) -> Iterator[tuple[str, Path]]:
    """Yield files by their path in the course, without those that tools leave behind."""
    for path in sorted((course.root / folder).rglob("*")):
        name = course.relative(path)
        if path.is_file() and not LITTER.intersection(name.parts):
            yield name.as_posix(), path


def _holds_code(course: Course, name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in _CODE and path.name != course.config.recipe


def _private_copies(course: Course, stems: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return private files, as kind and name, by the hash of their bytes.

    Leave out very small files, and files that a starter has as well, unless it is a solution's: such a copy in the
    starter is a leak, not a shared file. So is gold.
    """
    found: dict[str, tuple[str, str]] = {}
    solutions = [course.relative(folder) for folder in course.solution_folders]
    gold = {course.relative(assignment.gold) for assignment in course.assignments()}
    for folder in course.private_folders:
        for name, path in _files_below(course, folder):
            if _MIN_FILE_BYTES < path.stat().st_size <= MAX_FILE_BYTES:
                kind = "gold" if PurePosixPath(name).is_relative_to(course.config.fixtures) else "private"
                found.setdefault(file_hash(path), (kind, name))
                if any(Path(name).is_relative_to(solution) for solution in solutions):
                    found[file_hash(path)] = kind, name
    for assignment in course.assignments():
        for path in (assignment.recipe, assignment.adapter) if assignment.config.handout.recipe else ():
            if path.is_file():
                found.pop(file_hash(path), None)  # a kit has copies of them, and students may have it
        for path in assignment.files():
            _, name = found.get(file_hash(path), ("", "")) if path.is_file() else ("", "")
            if not name or Path(name).parent in gold:
                continue
            is_solution = any(Path(name).is_relative_to(folder) for folder in solutions) and path.stem in stems
            if not is_solution or _is_provided(assignment, path):
                del found[file_hash(path)]
    return found


def _is_provided(assignment: Assignment, path: Path) -> bool:
    """Say whether a file that is the same in starter and solution was given to students.

    It was if the solution has it under the same name, and nothing in it has ever been for students to write, but for
    what the solution leaves alone.
    """
    inside = path.relative_to(assignment.starter)
    solution = assignment.solution / inside
    if not solution.is_file():
        return False
    if path.suffix not in (".py", NOTEBOOK):
        return True
    versions = [_as_module(path.name, path.read_bytes())[1], *_versions(assignment, inside)]
    left = left_in_all(versions, _as_module(path.name, solution.read_bytes())[1])
    if not left.issuperset(_written_in(assignment, inside)):
        return False
    unwritten = any(written_by_students(source) - left for source in versions)
    return not unwritten and not (path.suffix == NOTEBOOK and _differed(assignment, inside))


def _differed(assignment: Assignment, inside: Path) -> bool:
    """Say whether a notebook of the starter once had other code than the solution's had then: cells may be left to
    students that define nothing."""
    course = assignment.course
    place, answer = (
        course.relative(folder / inside).as_posix() for folder in (assignment.starter, assignment.solution)
    )
    for commit in _commits(course, place):
        mine, theirs = (git(course.root, "show", f"{commit}:./{name}") for name in (place, answer))
        if mine is not None and theirs is not None and _code_cells(mine) != _code_cells(theirs):
            return True
    return False


def _code_cells(text: str) -> list[str]:
    try:
        return [cell.source for cell in read_ipynb(text.encode("utf-8", "surrogateescape"))]
    except NotANotebook:
        return []


def _versions(assignment: Assignment, inside: Path) -> list[bytes]:
    """Return what a starter's file has been in the last commits that changed it."""
    course = assignment.course
    place = course.relative(assignment.starter / inside).as_posix()
    versions = [git(course.root, "show", f"{commit}:./{place}") for commit in _commits(course, place)]
    found = [text.encode("utf-8", "surrogateescape") for text in versions if text is not None]
    return [_as_module(inside.name, content)[1] for content in found]


def _commits(course: Course, place: str) -> list[str]:
    return (git(course.root, "log", f"-{_MAX_VERSIONS}", "--format=%h", "--", place) or "").split()


_CODE = (".py", ".ipynb", ".md")
_MIN_FILE_BYTES = 40  # bytes: nearly empty files are not compared
_MAX_VERSIONS = 20


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or part of one, that could not be looked into."""

    file: str
    """The file."""
    why: str
    """Why not."""


@dataclass(frozen=True)
class Sweep:
    """What was found, and what could not be looked into."""

    findings: list[Finding]
    unseen: list[Unseen]


def sweep(course: Course, files: Iterable[PublicFile], guarded: Guarded, *, nothing_is_fine: bool = False) -> Sweep:
    """Return every finding in `files`: each private folder once, those of the past with the commit that added them."""
    found: list[Finding] = []
    unseen: dict[tuple[str, str], Unseen] = {}
    folders: dict[tuple[str, bool], list[str]] = {}
    names: list[str] = []
    for file in files:
        names.append(file.path)
        if PurePosixPath(file.path).parts[0] in guarded.handed_in:
            continue
        if file.unseen:
            unseen.setdefault((file.path, file.unseen), Unseen(file=file.path, why=file.unseen))
            continue
        for finding in (*leaks_in(file.path, file.content, guarded), *kit_findings(course, file.path, file.content)):
            folder = _private_folder(finding, guarded)
            if folder:
                folders.setdefault((folder, bool(file.past)), []).append(file.path)
            elif file.past:
                found.append(msgspec.structs.replace(finding, commit=_commit(course, file.past)))
            else:
                found.append(finding)
    if not names and not nothing_is_fine:
        raise BlindGuard(["there is not a single file to scan"])
    if not guarded.private:  # the staff's own repository, where submissions may lie
        found = as_class_folders(found, names, course)
    for (folder, past), inside in folders.items():
        many = count_of(len(inside), "file")
        when = "was there once, and its history still has it" if past else "is there"
        found.append(Finding(kind="private", file=folder, why=f"{folder}/ is not for students, but {when} ({many})"))
    return Sweep(found, list(unseen.values()))


def injected_findings(course: Course) -> list[Finding]:
    return [
        Finding(
            kind="injected",
            file=journal.changes[0].path if journal.changes else journal.assignment,
            part=journal.assignment,
            why=f"the solution is in the starter's place; run `goldsmith reset {journal.assignment}`",
        )
        for journal in journals(course)
    ]


def _secrets(course: Course, name: str, content: bytes) -> Iterator[Secret]:
    """Yield the secret parts of one solution file, for all assignments it may belong to, without those that it leaves
    to students, too."""
    starters: list[Starter] = []
    written: list[str] = []
    places: list[tuple[Assignment, Path]] = []
    for assignment in course.assignments():
        if belongs(name, assignment):
            target = _target(assignment, name)
            starters += _starters(assignment, target)
            written += _written_in(assignment, target)
            places.append((assignment, target))
    solution, module = _as_module(name, content)
    left = left_in_all([source for _, source in starters], module)
    if left:  # what a leaked starter and the solution have in common once was a stub
        left &= left_in_all([source for place in places for source in _versions(*place)], module)
    yield from secrets_of(solution, module, starters, written, left)


def _as_module(name: str, content: bytes) -> tuple[str, bytes]:
    """Return a notebook as the module of its definitions, and any other file as it is."""
    if PurePosixPath(name).suffix == NOTEBOOK:
        with contextlib.suppress(BadNotebook):
            return str(PurePosixPath(name).with_suffix(".py")), convert(content, PurePosixPath(name).name).source
    return name, content


def _target(assignment: Assignment, name: str) -> Path:
    """Return the starter's file that the solution's file `name` replaces, relative to the starter."""
    path, folder = PurePosixPath(name), assignment.course.relative(assignment.solution).as_posix()
    inside = path.relative_to(folder) if path.is_relative_to(folder) else PurePosixPath(path.name)
    target = Path(inside.with_name(inside.name.replace(SOLUTION_SUFFIX, ".py")))
    standing = starter_module(assignment, module_of(target)) if inside.suffix == NOTEBOOK else None
    return target if standing is None else standing.source.relative_to(assignment.starter)


def _written_in(assignment: Assignment, target: Path) -> list[str]:
    """Return the parts of one file that were for students to write when the gold was made."""
    stem = f"{target.stem}."
    return [part.removeprefix(stem) for part in _written(assignment) if part.startswith(stem)]


def _starters(assignment: Assignment, target: Path) -> Iterator[Starter]:
    """Yield the starter's file from before an injection; else as committed and as it is, of which one may be a
    leak."""
    course = assignment.course
    path = course.relative(assignment.starter / target)
    kept = before_injection(course, assignment.name, path.as_posix())
    if kept is not None:
        yield _as_module(path.name, kept)
        return
    committed = git(course.root, "show", f"HEAD:./{path.as_posix()}")
    if committed is not None:
        yield _as_module(path.name, committed.encode("utf-8", "surrogateescape"))
    with contextlib.suppress(OSError):
        yield _as_module(path.name, (course.root / path).read_bytes())


def _written(assignment: Assignment) -> tuple[str, ...]:
    """Return what was for students to write when the gold was made: known even if the starter was overwritten since."""
    try:
        return read_manifest(assignment.gold).provenance.written
    except GoldUnreadable:
        return ()


def _private_folder(finding: Finding, guarded: Guarded) -> str | None:
    if finding.kind != "private":
        return None
    return private_folder(finding.file, guarded.private)


def _commit(course: Course, blob: str) -> str:
    """Return the oldest commit that has a file's content."""
    rows = (git(course.root, "log", "--all", "--format=%h", f"--find-object={blob}") or "").split()
    return rows[-1] if rows else ""

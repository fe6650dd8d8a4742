"""Private copies of a course with the solution in the assignment's place; for a recipe by itself, its own place.

Code that runs in a workspace does not touch the course itself. Workspaces are in private temporary folders
(`workspace/temporary.py`); those of a killed process are removed by the next one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.errors.course import Unreadable
from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.ignored_names import GRADES, GRADES_MARK
from goldsmith.foundation.platforms import RUNNING_CODE, require
from goldsmith.targets.target import (
    AS_GIVEN,
    PROJECT_FILE,
    NotebookModule,
    Placement,
    ShownNotebook,
    Starter,
    Target,
    WorkspaceFiles,
)
from goldsmith.workspace.selection import is_left_out, links_out, needed_files, without_settings
from goldsmith.workspace.temporary import private_folder


@dataclass(frozen=True)
class Workspace:
    """One private copy: `root` is the copy of the course's root, `scratch` is for a run's output. With a `search_path`
    for modules nothing was copied: code runs in place. `notebooks` are the modules in it that were notebooks."""

    root: Path
    scratch: Path
    folder: Path
    origins: dict[Path, Path]
    search_path: tuple[Path, ...] = ()
    notebooks: Mapping[Path, ShownNotebook] = field(default_factory=dict)

    @property
    def in_place(self) -> bool:
        return bool(self.search_path)

    def origin(self, path: Path) -> Path | None:
        """Return the file that `path` in this workspace was copied from, None if there is none."""
        if self.in_place:
            return path if path.is_file() else None
        return self.origins.get(path)


@contextlib.contextmanager
def make_workspaces(
    target: Target,
    placed: Sequence[Placement],
    count: int,
    *,
    reads: Iterable[str] | None = None,
    whole: bool = False,
    temporary_folder: Path | None = None,
    hidden_files: Sequence[Path] = (),
) -> Iterator[list[Workspace]]:
    """Make `count` equal workspaces with `placed` over the starter; remove them afterwards in any case.

    With `reads`, the files that the recipe reads, a workspace holds only what is needed: `placed` is then a submission.
    Otherwise it holds the course without solutions and gold; a `whole` one includes these, as the internal tests need
    them. With `temporary_folder`, they are next to others in it. `hidden_files` are further files and folders to leave
    out, relative to the course's root.

    Outside of a course nothing is copied; each run has its own scratch folder.
    """
    require(RUNNING_CODE)
    with private_folder(temporary_folder) as base:
        folders = [base / f"run-{number}" for number in range(1, count + 1)]
        if target.starter is None or target.files is None:
            yield [_in_place(target, folder) for folder in folders]
            return
        course = _Course(target, target.starter, target.files, target.project.root)
        private = () if whole else target.files.answers
        hidden = (course.root / path for path in hidden_files)
        apart = frozenset((target.files.reports, *private, *hidden))
        needed = None if reads is None else needed_files(target, reads, sorted(apart))
        yield [_make(course, placed, folder, apart, needed) for folder in folders]


@dataclass(frozen=True)
class _Course:
    """A target in a course, with what every one of those has."""

    target: Target
    starter: Starter
    files: WorkspaceFiles
    root: Path


def _in_place(target: Target, base: Path) -> Workspace:
    scratch = base / "scratch"
    try:
        scratch.mkdir(parents=True)
    except OSError as error:
        raise CannotWrite(base, error.strerror or str(error)) from None
    return Workspace(target.project.root, scratch, target.recipe.parent, {}, target.search_path)


def _make(
    course: _Course,
    placed: Sequence[Placement],
    base: Path,
    apart: frozenset[Path],
    needed: Mapping[Path, Path] | None,
) -> Workspace:
    starter = course.starter
    root, scratch = base / "course", base / "scratch"
    origins: dict[Path, Path] = {}
    notebooks: dict[Path, ShownNotebook] = {}
    try:
        scratch.mkdir(parents=True)
        if needed is None:
            _copy_tree(course, course.root, root, origins, apart)
        else:
            _copy_needed(course, needed, root, origins)
        folder = root / starter.folder.relative_to(course.root)
        for item in (*placed, *starter.notebooks):
            goal = folder / item.target
            if item not in placed and (goal.exists() or not _is_copied(starter, item, folder)):
                continue
            module = _place(item, root, goal)
            origins[goal] = item.source
            if module is not None:
                notebooks[goal] = ShownNotebook(item.source.name, module)
        is_solution = needed is None and any(item.source != course.target.recipe for item in placed)
        for name in course.files.removes if is_solution else ():
            (folder / name).unlink(missing_ok=True)
            origins.pop(folder / name, None)
    except OSError as error:
        raise CannotWrite(base, error.strerror or str(error)) from None
    return Workspace(root, scratch, folder, origins, notebooks=notebooks)


def _is_copied(starter: Starter, item: Placement, folder: Path) -> bool:
    """Say whether a notebook of the starter's is in the copy of its folder."""
    return (folder / item.source.relative_to(starter.folder)).exists()


def _place(item: Placement, root: Path, target: Path) -> NotebookModule | None:
    """Put one solution file into the workspace, and never, through any link, anywhere else; of a notebook, the module
    that it becomes, which is returned."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(root):
        raise CannotWrite(target, "it lies behind a link that leaves the workspace")
    module = item.notebook()
    if module is not None and module.imports_itself and target.is_file():
        target.replace(target.with_name(f"{target.stem}{AS_GIVEN}.py"))
    target.unlink(missing_ok=True)
    if module is None:
        _copy_file(item.source, target)
    else:
        target.write_bytes(module.source)
    return module


def _copy_needed(course: _Course, needed: Mapping[Path, Path], root: Path, origins: dict[Path, Path]) -> None:
    """Copy these files, without goldsmith's own settings, and links that lead out of the course."""
    starter = course.starter.folder
    (root / starter.relative_to(course.root)).mkdir(parents=True)
    wanted = [starter, *(course.root / inside for inside in needed)]
    for link in links_out(course.target):
        if not any(path.is_relative_to(link) for path in wanted):
            (root / link.relative_to(course.root)).symlink_to(_link_target(course.root, link))
    for inside, source in needed.items():
        goal = root / inside
        goal.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(source, goal)
        if inside == Path(PROJECT_FILE):
            goal.write_text(without_settings(source.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")
        origins[goal] = source


def _copy_tree(course: _Course, source: Path, target: Path, origins: dict[Path, Path], apart: frozenset[Path]) -> None:
    """Copy files and folders. Links stay links, except on the way to the starter and inside it: what will be replaced
    must belong to the workspace."""
    target.mkdir(parents=True, exist_ok=True)
    try:
        entries = sorted(os.scandir(source), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(course.target.project.relative(source), error.strerror or str(error)) from None
    grades = GRADES if any(entry.name == GRADES_MARK for entry in entries) else ()
    for entry in entries:
        path = Path(entry.path)
        if path in apart or entry.name in grades or is_left_out(course.root, course.files.exclude, path):
            continue
        goal = target / entry.name
        if entry.is_symlink() and not _is_copied_through(course.starter, path):
            goal.symlink_to(_link_target(course.root, path))
        elif entry.is_dir() and not _holds_only_grades(path):
            _copy_tree(course, path, goal, origins, apart)
        elif entry.is_file():
            _copy_file(path, goal)
            origins[goal] = path


def _holds_only_grades(folder: Path) -> bool:
    """Return whether the folder is as `goldsmith grade` leaves one that it made itself."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return False
    return GRADES_MARK in names and names <= GRADES | {".gitignore"}


def _is_copied_through(starter: Starter, link: Path) -> bool:
    if starter.is_whole and link.is_dir():  # probably data that is stored elsewhere
        return False
    on_the_way = starter.folder.is_relative_to(link) or link.is_relative_to(starter.folder)
    return on_the_way and link.exists() and not link.parent.resolve().is_relative_to(link.resolve())


def _copy_file(source: Path, target: Path) -> None:
    """Copy bytes and mode, but always writable: nothing in a workspace needs protection."""
    try:
        mode = source.stat().st_mode
        with source.open("rb"):
            pass
    except OSError as error:
        raise Unreadable(source, error.strerror or str(error)) from None
    shutil.copyfile(source, target)
    target.chmod(stat.S_IMODE(mode) | stat.S_IWUSR)


def _link_target(root: Path, link: Path) -> str:
    """Return a link's target: relative if inside the course, so that it leads to the copy; otherwise absolute."""
    target = Path(os.path.normpath(link.parent / os.readlink(link)))
    return os.path.relpath(target, link.parent) if target.is_relative_to(root) else str(target)

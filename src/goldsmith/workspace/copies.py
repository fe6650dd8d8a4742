"""Private copies of a course in which the solution stands in the assignment's place.

Whatever code does in a workspace, the course itself is not touched by it. Workspaces live under the
system's temporary folder, readable by their owner alone; those of a killed process are swept by the next.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import filelock

from goldsmith.course import Assignment, Course, Placement
from goldsmith.errors import CannotWrite, Unreadable
from goldsmith.interruption import uninterrupted
from goldsmith.workspace.snapshot import IGNORED

_PREFIX = "goldsmith-"
_LOCK = "owner.lock"
_SWEEP_AGE = 60.0
_NEVER_COPIED = IGNORED | {".git", ".goldsmith", ".ruff_cache", ".hypothesis", ".tox", ".nox", "node_modules"}


@dataclass(frozen=True)
class Workspace:
    """One private copy: `root` stands for the course's root, `scratch` is for what a run leaves behind."""

    root: Path
    scratch: Path
    folder: Path
    origins: dict[Path, Path]

    def origin(self, path: Path) -> Path | None:
        """The file of the course that `path` in this workspace was copied from, None when it has none."""
        return self.origins.get(path)


@contextlib.contextmanager
def make_workspaces(assignment: Assignment, placed: Sequence[Placement], count: int) -> Iterator[list[Workspace]]:
    """`count` equal workspaces with `placed` over the assignment's starter; removed again in any case."""
    sweep_abandoned()
    base = Path(tempfile.gettempdir()).resolve() / f"{_PREFIX}{secrets.token_hex(6)}"
    lock = filelock.FileLock(base / _LOCK)
    try:
        _lock_new(base, lock)
        yield [_make(assignment, placed, base / f"run-{number}") for number in range(1, count + 1)]
    finally:
        with uninterrupted():
            lock.release()
            _remove(base)


def _lock_new(base: Path, lock: filelock.BaseFileLock) -> None:
    try:
        base.mkdir(mode=0o700)
        lock.acquire(timeout=0)
    except OSError as error:
        raise CannotWrite(base.parent, error.strerror or str(error)) from None


def _make(assignment: Assignment, placed: Sequence[Placement], base: Path) -> Workspace:
    course = assignment.course
    root, scratch = base / "course", base / "scratch"
    origins: dict[Path, Path] = {}
    try:
        scratch.mkdir(parents=True)
        _copy_tree(course, course.root, root, origins)
        folder = root / assignment.starter.relative_to(course.root)
        for item in placed:
            target = folder / item.target
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            _copy_file(item.source, target)
            origins[target] = item.source
    except OSError as error:
        raise CannotWrite(base, error.strerror or str(error)) from None
    return Workspace(root, scratch, folder, origins)


def _copy_tree(course: Course, source: Path, target: Path, origins: dict[Path, Path]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    try:
        entries = sorted(os.scandir(source), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(course.relative(source), error.strerror or str(error)) from None
    for entry in entries:
        path = Path(entry.path)
        if _left_out(course, path):
            continue
        goal = target / entry.name
        if entry.is_symlink():
            goal.symlink_to(_link_target(course, path))
        elif entry.is_dir():
            _copy_tree(course, path, goal, origins)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            _copy_file(path, goal)
            origins[goal] = path


def _copy_file(source: Path, target: Path) -> None:
    """Bytes and mode, always writable: nothing in a workspace is precious."""
    try:
        mode = source.stat().st_mode
        with source.open("rb"):
            pass
    except OSError as error:
        raise Unreadable(source, error.strerror or str(error)) from None
    shutil.copyfile(source, target)
    target.chmod(stat.S_IMODE(mode) | stat.S_IWUSR)


def _left_out(course: Course, path: Path) -> bool:
    if path.name in _NEVER_COPIED or path in (course.solutions_folder, course.fixtures_folder):
        return True
    if (path / "pyvenv.cfg").is_file():
        return True
    inside = path.relative_to(course.root).as_posix()
    return any(fnmatch.fnmatch(inside, pattern.rstrip("/")) for pattern in course.config.exclude)


def _link_target(course: Course, link: Path) -> str:
    """A link into the course by absolute path would lead out of the workspace: make it relative."""
    target = os.readlink(link)
    if os.path.isabs(target) and Path(target).is_relative_to(course.root):
        return os.path.relpath(target, link.parent)
    return target


def sweep_abandoned() -> None:
    """Remove workspaces whose process is gone: a killed run must not leave a solution lying about."""
    for base in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, filelock.Timeout):
            status = base.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            if time.time() - status.st_mtime < _SWEEP_AGE or not (base / _LOCK).exists():
                continue
            with filelock.FileLock(base / _LOCK).acquire(timeout=0):
                _remove(base)


def _remove(base: Path) -> None:
    """Remove a workspace even where the code that ran in it took its own rights away."""
    for current, folders, _files in os.walk(base):
        for name in folders:
            with contextlib.suppress(OSError):
                Path(current, name).chmod(0o700)
    shutil.rmtree(base, ignore_errors=True)

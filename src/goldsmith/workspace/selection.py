"""Selection of the course's files for a submission's workspace: what it needs, and nothing that students must not see.

It needs the assignment's own folder, what the settings declare as `shared`, and what the recipe read when its gold was
recorded. Secrets, solutions, gold, internal tests, grades and other people's work are never included.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldsmith.foundation.ignored_names import GRADES, GRADES_MARK, LITTER
from goldsmith.foundation.secret_files import is_secret_content, is_secret_name
from goldsmith.targets.target import PROJECT_FILE, SOLUTION_SUFFIX, Target

NEVER_COPIED = LITTER | {".git", ".goldsmith", ".github", ".claude", ".vscode", ".idea"}
"""Names that no running code needs."""
_STAFF = re.compile(r"(?i)(?:solutions?|private|variants|staff|instructors?)(?:[-_.].*)?$")
"""Names in an assignment's folder that are probably not for students. Files there that the recipe reads are copied."""


def needed_files(target: Target, reads: Iterable[str], hidden_files: Sequence[Path]) -> dict[Path, Path]:
    """Return what to copy, by its path relative to the course's root, with its source: a link inside leads to the file
    itself. `reads` are relative to the root, `hidden_files` are absolute."""
    return dict(_Selection(target, hidden_files).found(reads))


def is_private(target: Target, path: Path) -> bool:
    """Return whether no submission may get `path`, whatever is declared."""
    return _Selection(target, ()).never(path)


class _Selection:
    def __init__(self, target: Target, hidden_files: Sequence[Path]) -> None:
        assert target.starter is not None
        assert target.files is not None
        self.starter, self.files, self.root = target.starter, target.files, target.project.root
        self._closed = [(path, path.resolve()) for path in (*target.files.closed, *hidden_files)]

    def found(self, reads: Iterable[str]) -> Iterator[tuple[Path, Path]]:
        starter = self.starter.folder
        yield from self._walk(starter, top=starter)
        patterns = (*self.files.shared, *self.files.own_shared)
        shared = [path for pattern in patterns for path in sorted(self.root.glob(pattern.rstrip("/")))]
        for path in shared:
            yield from self._walk(path, top=path)
        read = [self.root / name for name in reads]
        for path in read:
            if path.is_file() and not self.never(path):
                yield from self._file(path)
        around = dict.fromkeys(folder for path in (starter, *shared, *read) for folder in path.parents)
        for folder in around:
            init = folder / "__init__.py"
            if folder.is_relative_to(self.root) and init.is_file() and not self.never(init):
                yield from self._file(init)
        project = self.root / PROJECT_FILE  # code looks for it to find the root, without reading it
        if project.is_file() and not self.never(project):
            yield from self._file(project)

    def never(self, path: Path) -> bool:
        """Return whether a path is always private: by its name, by its location, or by a link's target."""
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        if any(part in NEVER_COPIED or is_secret_name(part) for part in inside.parts):
            return True
        if any(path.is_relative_to(closed) for closed, _ in self._closed):
            return True
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return True
        return is_secret_name(real.name) or any(real.is_relative_to(closed) for _, closed in self._closed)

    def _walk(self, path: Path, top: Path) -> Iterator[tuple[Path, Path]]:
        if path != top and (self._is_for_staff(path, top) or is_left_out(self.root, self.files.exclude, path)):
            return
        if path != top and top == self.starter.folder and not self.starter.holds(path):
            return
        if self.never(path) or (path.is_symlink() and not self._may_follow(path)):
            return
        if path.is_file():
            yield from self._file(path)
        elif path.is_dir():
            try:
                names = sorted(os.listdir(path))
            except OSError:
                names = []
            if GRADES_MARK in names:
                names = [name for name in names if name not in GRADES]
            for name in names:
                yield from self._walk(path / name, top)

    def _is_for_staff(self, path: Path, top: Path) -> bool:
        if any(path.is_relative_to(folder) for folder in self.files.for_staff):
            return True
        in_starter = top == self.starter.folder
        return in_starter and (
            path.name.endswith((SOLUTION_SUFFIX, "_solution.ipynb"))
            or (_STAFF.match(path.name) is not None and path.is_dir())
        )

    def _may_follow(self, link: Path) -> bool:
        """Return whether to copy a link's target: not in a circle; out of the course only from the assignment."""
        target = link.resolve()
        circles = link.parent.resolve().is_relative_to(target)
        inside = target.is_relative_to(self.root.resolve()) or link.is_relative_to(self.starter.folder)
        return link.exists() and inside and not circles

    def _file(self, path: Path) -> Iterator[tuple[Path, Path]]:
        try:
            with path.open("rb") as file:
                is_secret = is_secret_content(path, file.read(4096))
        except OSError:
            is_secret = False  # copying it will report that it is unreadable
        if not is_secret:
            yield path.relative_to(self.root), path


def links_out(target: Target) -> Iterator[Path]:
    """Yield links next to the folders on the way to the assignment that lead out of the course, as to a data disk.
    Their targets are not visible in a sandbox."""
    selection = _Selection(target, ())
    root, exclude = selection.root, selection.files.exclude
    for folder in (path for path in selection.starter.folder.parents if path.is_relative_to(root)):
        for entry in sorted(os.scandir(folder), key=lambda item: item.name):
            path = Path(entry.path)
            is_link = entry.is_symlink() and path.exists()
            if not is_link or selection.never(path) or is_left_out(root, exclude, path):
                continue
            if not path.resolve().is_relative_to(root.resolve()):
                yield path


def is_left_out(root: Path, exclude: Iterable[str], path: Path) -> bool:
    """Return whether every workspace leaves a path out: tools' leftovers, environments, what the settings exclude."""
    if path.name in NEVER_COPIED:
        return True
    if (path / "pyvenv.cfg").is_file():
        return True
    inside = path.relative_to(root).as_posix()
    return any(fnmatch.fnmatch(inside, pattern.rstrip("/")) for pattern in exclude)


def without_settings(project: str) -> str:
    """Return a `pyproject.toml` without goldsmith's own tables, which are for staff: rubrics, surviving mutants."""
    kept, skipping = [], False
    for line in project.splitlines(keepends=True):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            names = [part.strip().strip("\"'") for part in header[1].split(".")]
            skipping = names[:2] == ["tool", "goldsmith"]
        if not skipping and not re.match(r"\s*(?:tool\s*\.\s*)?[\"']?goldsmith[\"']?\s*[.=]", line):
            kept.append(line)
    return "".join(kept)

"""A pool of workspaces that mutants take turns in, because making one costs about as much as trying a mutant in it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import INPUTS_DIR, ReplayWorkspace
from goldsmith.foundation.beneath import open_beneath, open_folder
from goldsmith.targets.target import Placement

_Looks = dict[str, tuple[int, int, int, str]]


@dataclass
class PooledWorkspace:
    """A workspace with the solution in it. One that its borrower marks `dirty` is not lent again."""

    stage: ReplayWorkspace
    looks: _Looks = field(default_factory=dict)
    dirty: bool = False


@dataclass
class WorkspacePool:
    """A pool that lends each workspace to one mutant at a time.

    One that comes back changed is not lent again; all are removed when the context is left.
    """

    checking: CheckContext
    placed: Sequence[Placement]
    given: Path
    _free: list[PooledWorkspace] = field(default_factory=list)
    _made: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _lending: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> WorkspacePool:
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()

    @contextlib.contextmanager
    def borrow(self, mutant: Placement) -> Iterator[PooledWorkspace]:
        """Lend a workspace in which the mutant's file replaces the solution's."""
        pooled = self._take()
        file = pooled.stage.workspace.folder / mutant.target
        solution = file.read_bytes()
        file.write_bytes(mutant.source.read_bytes())
        # A copy: limits that one borrower sets on the stage must not reach the next.
        lent = dataclasses.replace(pooled, stage=dataclasses.replace(pooled.stage))
        yield lent
        if not lent.dirty and _restore(pooled, file, solution):
            with self._lending:
                self._free.append(pooled)

    def _take(self) -> PooledWorkspace:
        with self._lending:
            if self._free:
                return self._free.pop()
            stage = self._made.enter_context(self.checking.open_workspace(self.placed))
        stage.given = self.given
        stage.write_inputs()
        return PooledWorkspace(stage, _looks_of(stage))


def _restore(pooled: PooledWorkspace, file: Path, solution: bytes) -> bool:
    """Put the solution's file back and empty scratch; say whether the workspace is then exactly as it was."""
    with contextlib.suppress(OSError, KeyError):
        before = file.lstat()
        _overwrite(pooled, file, solution)
        os.utime(file, ns=(before.st_atime_ns, pooled.looks[str(file)][2]))
        for path in pooled.stage.workspace.scratch.iterdir():
            if path.name == INPUTS_DIR:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        return _looks_of(pooled.stage) == pooled.looks
    return False


def _overwrite(pooled: PooledWorkspace, file: Path, content: bytes) -> None:
    """Overwrite a file of the workspace without following a link that a mutant may have left there."""
    root = pooled.stage.workspace.root
    folder = open_folder(root)
    try:
        # O_NONBLOCK: a FIFO that a mutant left there must not block the open.
        number = open_beneath(folder, file.relative_to(root), os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK)
    finally:
        os.close(folder)
    with os.fdopen(number, "wb") as writer:
        writer.write(content)


def _looks_of(stage: ReplayWorkspace) -> _Looks:
    """Return mode, size, modification time and link target of every file, and the mode of every folder."""
    found = {}
    for top in (stage.workspace.root, stage.workspace.scratch / INPUTS_DIR):
        for current, folders, files in os.walk(top):
            for name in (*folders, *files):
                path = os.path.join(current, name)
                status = os.lstat(path)
                is_folder = stat.S_ISDIR(status.st_mode)
                size, written = (0, 0) if is_folder else (status.st_size, status.st_mtime_ns)
                target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
                found[path] = (status.st_mode, size, written, target)
    return found

"""Processes that are killed for real: at a chosen step of what they do to the disk, or at a random moment."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STEPS = ("replace", "rename", "unlink", "mkdir", "rmdir", "fsync", "fchmod", "chmod", "utime", "symlink", "open")

Tree = dict[str, tuple[str, int, int, bytes]]


def whole_tree(root: Path) -> Tree:
    """Every path below `root` but goldsmith's own and git's: kind, mode, time, and bytes or a link's target."""
    found: Tree = {}
    for current, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".goldsmith", ".git")]
        for name in (*folders, *files):
            path = Path(current, name)
            status = path.lstat()
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[key] = ("link", 0, 0, os.readlink(path).encode())
            elif path.is_dir():
                found[key] = ("folder", status.st_mode, 0, b"")
            else:
                found[key] = ("file", status.st_mode, status.st_mtime_ns, path.read_bytes())
    return found


def killed_at_step(step: int, action: Callable[[], Any]) -> bool:
    """Run `action` in a process of its own that kills itself before its `step`th change; whether it came to its end."""
    child = os.fork()
    if not child:
        _arm(step)
        _end(action)
    return _finished(child)


def telling_steps(root: Path, action: Callable[[], Any]) -> list[int]:
    """Do `action`, and name the steps at which a kill leaves below `root` what no kill one step earlier leaves; last,
    one after the end. About every second step only opens or syncs a file."""
    found: list[int] = []
    known: Any = None
    count = 0

    def look() -> None:
        nonlocal known, count
        count += 1
        if (now := (whole_tree(root), whole_tree(root / ".goldsmith"))) != known:
            found.append(count)
        known = now

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, _before(look, getattr(os, name)))
        action()
    return [*found, count + 1]


def killed_after(seconds: float, action: Callable[[], Any]) -> bool:
    """Run `action` in a process of its own and kill it after so long; whether it came to its end before."""
    child = os.fork()
    if not child:
        _end(action)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return _finished(child)


def random_moments(count: int, action: Callable[[], Any], seed: int) -> list[float]:
    """Moments spread over a little more than `action` takes."""
    started = time.perf_counter()
    child = os.fork()
    if not child:
        _end(action)
    _finished(child)
    length = time.perf_counter() - started
    chance = random.Random(seed)
    return [chance.uniform(0, 1.1 * length) for _ in range(count)]


def _arm(step: int) -> None:
    count = 0

    def count_up() -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in STEPS:
        setattr(os, name, _before(count_up, getattr(os, name)))


def _before(first: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        first()
        return function(*args, **kwargs)

    return call


def _end(action: Callable[[], Any]) -> None:
    try:
        action()
    except BaseException:
        os._exit(9)
    os._exit(0)


def _finished(child: int) -> bool:
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise AssertionError(f"the process failed by itself with {os.WEXITSTATUS(status)}")
    return os.WIFEXITED(status)

"""bubblewrap: a fresh process in namespaces of its own, where names and sizes of files are hidden as well.

An extra for processes that are started, not forked: what runs inside still locks itself in.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
from collections.abc import Iterable, Sequence

_PROGRAM = "bwrap"
_PATIENCE = 5.0
_WALLS = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
_ROOM = ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
_PRIVATE_MOUNTS = ("/proc", "/dev")


@functools.cache
def works() -> bool:
    """Whether it is installed and the kernel lets it make namespaces: a probe run says so."""
    return not why_not()


@functools.cache
def why_not() -> str:
    """Why it cannot be used, in words; empty where it can."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return "not installed"
    command = [program, *_WALLS, "--ro-bind", "/", "/", *_ROOM, "true"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        run = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL)
        if run.returncode == 0:
            return ""
        return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1].removeprefix("bwrap: ")
    return "it cannot be started, or does not come back"


def command(
    program: Sequence[str], *, readable: Iterable[str] = (), writable: Iterable[str] = (), folder: str = "/tmp"
) -> list[str]:
    """The command line that runs `program` in `folder` with these files and nothing else; no network, no processes."""
    found = [shutil.which(_PROGRAM) or _PROGRAM, *_WALLS, *_ROOM]
    for path in dict.fromkeys(readable):
        if not _is_private(path):
            found += ["--ro-bind-try", path, path]
    for path in dict.fromkeys(writable):
        found += ["--bind", path, path]
    return [*found, "--chdir", folder, "--", *program]


def _is_private(path: str) -> bool:
    """Whether it lies where a namespace has something of its own, over which nothing of the host must be put."""
    return any(path == mount or path.startswith(mount + "/") for mount in _PRIVATE_MOUNTS)

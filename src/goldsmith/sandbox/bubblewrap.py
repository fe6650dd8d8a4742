"""bubblewrap: a process with a file system of its own, in which what is not named is not there: nor are its name, its
size and its age. An extra: what runs inside still locks itself in.

Processes keep the numbers that they have outside: whoever started them can then end them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence

_PROGRAM = "bwrap"
_PATIENCE = 5.0
_WALLS = (
    "--unshare-user-try", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip
_ROOM = ("--ro-bind", "/proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
_PRIVATE_MOUNTS = ("/proc", "/dev")
_LOOK = """
import json, os, sys
hidden, writable = json.loads(sys.argv[1])
for folder in writable:
    path = os.path.join(folder, f".try-{os.getpid()}")
    open(path, "x").close()
    os.unlink(path)
print([path for path in hidden if os.path.lexists(path)])
"""


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
    run = _tried([program, *_WALLS, "--ro-bind", "/", "/", *_ROOM, "--", "true"])
    if run is None:
        return "it cannot be started, or does not come back"
    if run.returncode:
        return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1].removeprefix("bwrap: ")
    return ""


def prefix(*, readable: Iterable[str] = (), writable: Iterable[str] = ()) -> list[str]:
    """What stands before a program's own command line so that it has these files and nothing else, and no network."""
    found = [shutil.which(_PROGRAM) or _PROGRAM, *_WALLS, *_ROOM]
    for path in dict.fromkeys(readable):
        if not _is_private(path):
            found += ["--ro-bind-try", path, path]
    for path in dict.fromkeys(writable):
        found += ["--bind", path, path]
    return [*found, "--chdir", "/", "--"]


def hides(before: Sequence[str], *, hidden: Sequence[str], writable: Sequence[str]) -> bool:
    """Whether behind `before`, a `prefix`, files are gone, also by way of this process, and folders can be written."""
    ways = [*hidden, *(f"/proc/{os.getpid()}/root{path}" for path in hidden)]
    run = _tried([*before, sys.executable, "-I", "-S", "-c", _LOOK, json.dumps([ways, list(writable)])])
    return run is not None and run.stdout == "[]\n"


def _tried(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL)
    return None


def _is_private(path: str) -> bool:
    """Whether it lies where a namespace has something of its own, over which nothing of the host must be put."""
    return any(path == mount or path.startswith(mount + "/") for mount in _PRIVATE_MOUNTS)

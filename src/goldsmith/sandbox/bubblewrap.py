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
_MANY = 8
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
    for mount in _mounts([path for path in dict.fromkeys(readable) if not _is_private(path)]):
        found += mount
    for path in dict.fromkeys(writable):
        found += ["--bind", path, path]
    return [*found, "--chdir", "/", "--"]


def _mounts(paths: Sequence[str]) -> list[list[str]]:
    """What makes these paths readable, outermost first. Where most of a folder is, it is bound as a whole, with what
    must not be seen covered up: 470 mounts take 0.4 s of processor time, for each looks at all before it."""
    by_parent: dict[str, list[str]] = {}
    for path in paths:
        by_parent.setdefault(os.path.dirname(path), []).append(path)
    found: list[tuple[int, list[str]]] = []
    for parent, some in by_parent.items():
        others = _others(parent, some) if len(some) >= _MANY else None
        if others is None or 2 * len(others) > len(some):
            found += [(path.count("/"), ["--ro-bind-try", path, path]) for path in some]
            continue
        found.append((parent.count("/"), ["--ro-bind-try", parent, parent]))
        for path, is_folder in others:
            cover = ["--tmpfs", path] if is_folder else ["--ro-bind", os.devnull, path]
            found.append((path.count("/") - 1, cover))  # before what is bound in its place
    return [mount for _, mount in sorted(found, key=lambda item: item[0])]


def _others(parent: str, some: Sequence[str]) -> list[tuple[str, bool]] | None:
    """What else there is in a folder, and whether it is a folder itself; None where that cannot be covered up."""
    known = set(some)
    try:
        entries = [entry for entry in os.scandir(parent) if entry.path not in known]
    except OSError:
        return None
    if any(entry.is_symlink() for entry in entries):
        return None
    return [(entry.path, entry.is_dir()) for entry in entries]


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

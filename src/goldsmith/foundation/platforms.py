"""What this operating system offers of what goldsmith needs, and which commands therefore cannot run.

Linux has all of it, and is what goldsmith is tested on. Features are detected from what Python offers here, not from
the system's name, which is only for messages. Imports nothing heavy.
"""

from __future__ import annotations

import os
import platform
import signal
import sys

from goldsmith.errors.sandbox import GradingNeedsLinux, NotOnThisSystem

SYSTEM = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system() or sys.platform)
"""The system's name, for messages."""
IS_LINUX = sys.platform == "linux"
SYNCS_FOLDERS = sys.platform != "win32"
"""Whether a folder can be opened to flush renames in it to disk."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask this process to stop: Ctrl-C, a kill, a terminal that closes."""

RUNNING_CODE = "running code"
"""What `require` is asked for by Python callers, who have no command."""

_FOR_PROCESSES = {"fork": "fork", "killpg": "process groups", "mkfifo": "named pipes"}
_MISSING = tuple(words for name, words in _FOR_PROCESSES.items() if not hasattr(os, name))
RUNS_CODE = not _MISSING
"""Whether recipes and submissions can run, in processes of their own."""
_CANNOT = {
    "generate": "recipes cannot be run",
    "record": "recipes cannot be run",
    "calibrate": "recipes cannot be run",
    "diff": "recipes cannot be run",
    "verify --reproduce": "recipes cannot be run",
    "check": "submissions cannot be run",
    "parity": "models cannot be run in processes of their own",
    "grade --allow-unsandboxed": "submissions cannot be run",
    "test": "internal tests cannot be run",
    "rigor": "mutants cannot be run",
    RUNNING_CODE: "code of the course cannot be run",
    "inject": "solutions cannot be put in place safely",
    "reset": "solutions cannot be taken out of their place safely",
}
_CHANGES_FILES_IN_PLACE = ("inject", "reset")


def require(command: str) -> None:
    """Raise `NotOnThisSystem` if this operating system lacks something that a command needs."""
    if command not in _CANNOT:
        return
    if command in _CHANGES_FILES_IN_PLACE:
        lacks = [] if SYNCS_FOLDERS else ["way to flush a folder to disk"]
    else:
        lacks = list(_MISSING)
    if lacks:
        raise NotOnThisSystem(_CANNOT[command], SYSTEM, lacks)


def require_sandbox() -> None:
    """Raise `GradingNeedsLinux` unless this is Linux, the only system on which submissions can be sandboxed."""
    if not IS_LINUX:
        raise GradingNeedsLinux(SYSTEM, possible_without=RUNS_CODE)

"""Forked children that lock themselves in, do something, and report what became of it through a pipe.

As a program, `python confining.py`, it is a warm process with torch that forks a child for each job it reads.
"""

from __future__ import annotations

import functools
import json
import multiprocessing.heap
import multiprocessing.synchronize  # noqa: F401
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement, confine
from goldsmith.sandbox.limits import Limits
from goldsmith.sandbox.readable_paths import Reach, reach

_PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """What an action returned, or which error it met; the signal that ended it, and the walls it stood in."""

    value: Any = None
    error: str = ""
    number: int = 0
    message: str = ""
    signal: str = ""
    level: dict[str, Any] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return self.error == "PermissionError"


def locked_in(
    folder: Path,
    action: Callable[[], Any],
    *,
    user: int | None = None,
    level: Level | None = None,
    walls: bool = True,
    hidden: tuple[str, ...] = (),
    **limits: Any,
) -> Answer:
    """What becomes of `action` in a fork that has locked itself in, with `folder`/home as its home."""
    home = folder / "home"
    home.mkdir(exist_ok=True, mode=0o700)
    machine = _reach(hidden, tuple(sys.path)) if walls else None
    while True:
        if user is not None:
            _open_up(folder, home, user)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _become(writing, action, home, user, level if walls else Level(), machine, limits)
        os.close(writing)
        answer = _answer(child, reading)
        if answer.error != _Closed.__name__:
            return answer


class _Closed(Exception):
    """Nothing has been done, for another user cannot get home: every pytest that starts closes the folder that all of
    them share, in which this one has its own."""


@functools.cache
def _reach(hidden: tuple[str, ...], _imported_from: tuple[str, ...]) -> Reach:
    """What can be reached on this machine: walking through its packages takes longer than the rest of a test."""
    return reach(hidden)


def _open_up(folder: Path, home: Path, user: int) -> None:
    os.chown(home, user, user)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o711)


def _become(
    pipe: int, action: Callable[[], Any], home: Path, user: int | None, level: Level | None, machine: Reach | None,
    limits: dict[str, Any],
) -> None:  # fmt: skip
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        signal.alarm(0)
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        try:
            os.chdir(home)
        except PermissionError:
            raise _Closed from None
        reached = Level()
        if machine is not None:
            keep = (*limits.pop("descriptors", ()), pipe)
            readable = (*machine.readable, *limits.pop("readable", ()))
            own = {name: limits.pop(name) for name in Limits.__struct_fields__ if name in limits}
            given = Confinement(
                home=str(home),
                readable=readable,
                listable=machine.listable,
                descriptors=keep,
                limits=Limits(**own),
                **limits,
            )
            reached = confine(given, level)
        words = {"landlock": reached.landlock, "seccomp": reached.seccomp, "name": reached.name}
        try:
            report = {"value": action(), "level": words}
        except BaseException as error:
            number = getattr(error, "errno", 0) or 0
            report = {"error": type(error).__name__, "number": number, "message": str(error), "level": words}
        os.write(pipe, pickle.dumps(report))
    except BaseException as error:
        os.write(pipe, pickle.dumps({"error": type(error).__name__, "message": str(error)}))
    finally:
        os._exit(0)


def _answer(child: int, reading: int) -> Answer:
    watch = threading.Timer(_PATIENCE, lambda: os.kill(child, signal.SIGKILL))
    watch.start()
    try:
        with os.fdopen(reading, "rb") as pipe:
            content = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        watch.cancel()
    report = pickle.loads(content) if content else {}
    return Answer(**report, signal=signal.Signals(-status).name if status < 0 else "")


def serve() -> None:
    """Read the name of a job in `working.py` and a folder; fork; answer what became of it and how long it took."""
    import torch

    from support import sandbox_work as working

    torch.set_num_threads(1)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        job = getattr(working, request["job"])
        answer = locked_in(Path(request["folder"]), job, user=request.get("user"), **request.get("limits", {}))
        seconds = time.perf_counter() - started
        report = {"value": answer.value, "error": answer.error, "message": answer.message, "signal": answer.signal}
        print(json.dumps(report | {"seconds": seconds}), flush=True)


if __name__ == "__main__":
    serve()

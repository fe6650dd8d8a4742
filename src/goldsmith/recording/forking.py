"""The warm process: `python -P -m goldsmith.recording.forking [torch]`.

It has imported what takes long, has read what every child is given, knows nothing else of any gold, and forks a child
for each job that it is told of on its standard input.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from goldsmith.recording import child
from goldsmith.recording.groups import signal_group
from goldsmith.recording.leavings import ended_file
from goldsmith.recording.offspring import Room, adopt_orphans, end_strays, end_what_takes_too_much, room_for
from goldsmith.recording.payloads import payloads

_LOOK_AROUND, _RARELY = 0.2, 1.0
_MANY, _MANY_OBJECTS = 2**16, 20_000
_SHARE = 5
"""So many times as long as it took to see what children use up, it is not looked at again, but soon enough."""


_wake_up: list[int] = []
"""Both ends of what wakes this process; no child keeps them."""


def serve() -> None:
    """Read what a child is to do, fork, answer with its number; or import or read something; until standard input
    ends."""
    parent = os.getppid()
    children: dict[int, Path] = {}
    rooms: dict[int, Room] = {}
    why: dict[int, str] = {}
    looked = due = 0.0
    adopt_orphans()
    _settle()
    ended = _told_of_endings()
    while os.getppid() == parent:
        _reap(children, why)
        if time.monotonic() - looked > _LOOK_AROUND:
            why |= end_strays(children)
            looked = time.monotonic()
        if time.monotonic() > due:
            rooms = {number: room for number, room in rooms.items() if number in children}
            begun = time.monotonic()
            why |= end_what_takes_too_much(rooms)
            took = time.monotonic() - begun
            due = time.monotonic() + min(_RARELY, max(_LOOK_AROUND, _SHARE * took))
        ready = select.select([sys.stdin, ended], [], [], _LOOK_AROUND)[0]
        if ended in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(ended, _MANY)
        if sys.stdin not in ready:
            continue
        line = sys.stdin.readline()
        if not line:
            break
        request = json.loads(line)
        if "import" in request:
            print(int(_import(request["import"])), flush=True)
            continue
        if "read" in request:
            print(int(_read(request["read"])), flush=True)
            continue
        room = room_for(Path(request["job"]))
        number = os.fork()
        if not number:
            _become(request)
        children[number] = ended_file(Path(request["scratch"]))
        if room is not None:
            rooms[number] = room
        print(number, flush=True)
    end_strays(())


def _told_of_endings() -> int:
    """What can be read from as soon as a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    _wake_up.extend((reader, writer))
    return reader


def _reap(children: dict[int, Path], why: dict[int, str]) -> None:
    """Write down how children ended, and `why` where they were ended here; what one has left running in its group ends
    first, while its number is still its own."""
    while True:
        try:
            whose = -1
            if hasattr(os, "waitid"):
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    return
                whose = found.si_pid
                if whose in children:
                    signal_group(whose, signal.SIGKILL)
            number, status = os.waitpid(whose, os.WNOHANG)
        except ChildProcessError:
            return
        if not number:
            return
        reason = why.pop(number, "")
        ended = children.pop(number, None)
        if ended is not None:
            partial = ended.with_suffix(".partial")
            try:
                partial.write_text(f"{os.waitstatus_to_exitcode(status)} {reason}")
                partial.replace(ended)
            except OSError:
                continue  # the workspace is gone: nobody waits for this any more


def _become(request: dict[str, str]) -> None:
    """In the fork: a session, streams and an environment of its own, then the job as any child does it."""
    code = 1
    try:
        for descriptor in _wake_up:
            os.close(descriptor)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ["TMPDIR"] = tempfile.tempdir = request["temporary"]
        os.environ["PWD"] = os.environ["OLDPWD"] = request["folder"]
        os.chdir(request["folder"])
        child.main(request["job"], parent=os.getppid())
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _import_torch() -> None:
    """With what it imports late: its first optimiser takes as long as itself. Nothing is differentiated here, for that
    must not happen before a fork."""
    import safetensors.torch  # noqa: F401
    import torch

    torch.set_num_threads(1)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)


def _import(packages: Sequence[str]) -> bool:
    """Whether that was possible without a thread being started, which would not survive a fork."""
    threads = _threads()
    for name in packages:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    _settle()
    return _threads() == threads


def _read(files: Sequence[str]) -> bool:
    """Whether all of it can be read. What cannot, a child will complain of."""
    try:
        for file in files:
            payloads.of(Path(file))
    except Exception:
        return False
    finally:
        _settle()
    return True


def _settle() -> None:
    """What is there stays: a child that looked through all of it for garbage would have to copy every page. And it need
    not look as often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


if __name__ == "__main__":
    if "torch" in sys.argv:
        _import_torch()
    serve()

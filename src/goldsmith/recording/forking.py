"""The warm process: `python -P -m goldsmith.recording.forking [torch]`.

It has a child forked for each job that it is told of on its standard input, watches over all of them, and writes down
how each has ended. They are forked from another process, the zygote, which knows of none of this (`zygote.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

from goldsmith.platforms import IS_LINUX
from goldsmith.recording.groups import signal_group
from goldsmith.recording.leavings import ended_file
from goldsmith.recording.offspring import Room, adopt_orphans, end_strays, end_what_takes_too_much, room_for
from goldsmith.recording.zygote import NoZygote, Zygote

_LOOK_AROUND, _RARELY = 0.2, 1.0
_MANY = 2**16
_SHARE = 5
"""So many times as long as it took to see what children use up, it is not looked at again, but soon enough."""


def serve(*, torch: bool) -> None:
    """Read what a child is to do, have it forked, answer with its number; or have something imported or read; until
    standard input ends."""
    parent = os.getppid()
    children: dict[int, Path] = {}
    rooms: dict[int, Room] = {}
    looked = due = 0.0
    adopt_orphans()
    zygote = Zygote(torch=torch) if IS_LINUX else NoZygote(torch=torch)
    ended = _told_of_endings()
    while os.getppid() == parent:
        _reap(children)
        if time.monotonic() - looked > _LOOK_AROUND:
            end_strays([*children, zygote.number])
            looked = time.monotonic()
        if time.monotonic() > due:
            rooms = {number: room for number, room in rooms.items() if number in children}
            begun = time.monotonic()
            end_what_takes_too_much(rooms)
            took = time.monotonic() - begun
            due = time.monotonic() + min(_RARELY, max(_LOOK_AROUND, _SHARE * took))
        ready = select.select([sys.stdin, ended, zygote], [], [], _LOOK_AROUND)[0]
        if zygote in ready:
            break  # it has ended, and without it there are no more children
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
            print(int(zygote.import_all(request["import"])), flush=True)
            continue
        if "read" in request:
            print(int(zygote.read_all(request["read"])), flush=True)
            continue
        room = room_for(Path(request["job"]))
        number = zygote.fork(request)
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
    return reader


def _reap(children: dict[int, Path]) -> None:
    """Write down how children ended; what one has left running in its group ends first, while its number is still its
    own."""
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
        ended = children.pop(number, None)
        if ended is not None:
            partial = ended.with_suffix(".partial")
            try:
                partial.write_text(str(os.waitstatus_to_exitcode(status)))
                partial.replace(ended)
            except OSError:
                continue  # the workspace is gone: nobody waits for this any more


if __name__ == "__main__":
    serve(torch="torch" in sys.argv)

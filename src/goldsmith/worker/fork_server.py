"""The warm process: `python -P -m goldsmith.worker.fork_server [torch]`.

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
from collections.abc import Collection
from pathlib import Path

from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.process.descendants import Quota, adopt_orphans, enforce_quotas, kill_orphans, quota_for
from goldsmith.process.process_groups import signal_group
from goldsmith.process.untrusted_files import exit_status_file
from goldsmith.worker.zygote import NoZygote, Zygote

_LOOK_AROUND, _RARELY = 0.2, 1.0
_MANY = 2**16
_SHARE = 5
"""So many times as long as it took to see what children use up, it is not looked at again, but soon enough."""


def serve(*, torch: bool) -> None:
    """Read what a child is to do, have it forked, answer with its number; or have something imported or read; until
    standard input ends."""
    parent = os.getppid()
    children: dict[int, Path] = {}
    rooms: dict[int, Quota] = {}
    why: dict[int, str] = {}
    looked = due = 0.0
    adopt_orphans()
    zygote = Zygote(torch=torch) if IS_LINUX else NoZygote(torch=torch)
    while os.getppid() == parent:
        if time.monotonic() - looked > _LOOK_AROUND:
            why |= kill_orphans([*children, zygote.number])
            if IS_LINUX:
                _reap_strays(children)
            looked = time.monotonic()
        if time.monotonic() > due:
            rooms = {number: room for number, room in rooms.items() if number in children}
            begun = time.monotonic()
            why |= enforce_quotas(rooms)
            took = time.monotonic() - begun
            due = time.monotonic() + min(_RARELY, max(_LOOK_AROUND, _SHARE * took))
        ready = select.select([sys.stdin, zygote.ended, zygote], [], [], _LOOK_AROUND)[0]
        if zygote in ready:
            break  # it has ended, and without it there are no more children
        if zygote.ended in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(zygote.ended, _MANY)
            _reap(zygote, children, why)
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
        room = quota_for(Path(request["job"]))
        number = zygote.fork(request)
        children[number] = exit_status_file(Path(request["scratch"]))
        if room is not None:
            rooms[number] = room
        print(number, flush=True)
    for number in children:  # nobody else has their numbers: they have not been reaped
        signal_group(number, signal.SIGKILL)
    kill_orphans(())


def _reap(zygote: Zygote | NoZygote, children: dict[int, Path], why: dict[int, str]) -> None:
    """Write down how children ended, and `why` where they were ended here."""
    for number, status in zygote.reap():
        reason = why.pop(number, "")
        ended = children.pop(number, None)
        if ended is None:
            continue
        partial = ended.with_suffix(".partial")
        with contextlib.suppress(OSError):  # the workspace is gone: nobody waits for this any more
            partial.write_text(f"{os.waitstatus_to_exitcode(status)} {reason}")
            partial.replace(ended)


def _reap_strays(children: Collection[int]) -> None:
    """Let go of what children left running, has fallen to this process and has ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in children:
                return
            os.waitpid(ended.si_pid, 0)


if __name__ == "__main__":
    serve(torch="torch" in sys.argv)

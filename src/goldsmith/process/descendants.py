"""Processes that children have started, seen from the process that forked those children. Linux only: `/proc`."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.process.clocks import ProcessFacts, processes
from goldsmith.process.messages import Job
from goldsmith.process.resource_use import BLOCK, Nameless, Tally, lies_in_memory, memory_of

MAX_PROCESSES = 64
"""More processes than this in one child's session are a fork bomb."""
THREADS = 512
"""So many threads all processes of a child may have together: loaders with workers have some dozens, a library that
starts one for each processor of a large machine a few hundred. The kernel does not count root's."""
DESCRIPTORS = 2048
"""So many files, pipes and sockets they may have open together: a full socket holds 0.2 MiB that no process has."""
_PR_SET_CHILD_SUBREAPER = 36
_found: dict[Path, tuple[float, float]] = {}
"""How many bytes and names there were in each workspace before anybody's code ran in it."""


def adopt_orphans() -> None:
    """From here on, whatever outlives its own parent below this process becomes a child of this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_orphans(children: Collection[int]) -> dict[int, str]:
    """Kill daemons, which have left their session, and whole sessions that have grown into a crowd. Answers which of
    the children were ended for that, and why."""
    sessions: dict[int, int] = {}
    for number, parent, session, *_ in processes():
        sessions[session] = sessions.get(session, 0) + 1
        if parent == os.getpid() and number not in children:
            _kill(number)
    crowds = [session for session, size in sessions.items() if session in children and size > MAX_PROCESSES]
    for session in crowds:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)
    return dict.fromkeys(crowds, f"it had more than {MAX_PROCESSES} processes")


@dataclass(frozen=True)
class Quota:
    """What a child may use up together with everything that it starts, also what has ended. `None` is no limit.

    memory:     bytes, shared memory among it, and files where `folder` lies in memory
    disk:       bytes: written and not thrown away by them, and lying in the workspace `folder` or nameless on its disk
    files:      this many names in `folder`
    file_size:  bytes, of each file

    What was there before anything ran does not count.
    """

    folder: Path
    memory: int | None
    disk: int | None
    files: int | None
    file_size: int | None = None
    before: tuple[float, float] = (0, 0)
    in_memory: bool = False
    written: Tally = field(default_factory=Tally)


def quota_for(job_file: Path) -> Quota | None:
    """What the child of a job is left with; None where it is not locked in."""
    job = msgspec.json.decode(job_file.read_bytes(), type=Job)
    if job.confinement is None:
        return None
    given, folder = job.confinement, Path(job.root).parent
    if folder not in _found:
        for gone in [other for other in _found if not other.exists()]:
            del _found[gone]
        _found[folder] = _held(folder)
    return Quota(folder, given.memory, given.disk, given.files, given.file_size, _found[folder], lies_in_memory(folder))


def enforce_quotas(rooms: Mapping[int, Quota]) -> dict[int, str]:
    """Limits of the kernel's are for each process, or each file; these are for all of a child's together. Answers whom
    it has ended, and why."""
    members: dict[int, list[ProcessFacts]] = {number: [] for number in rooms}
    for item in processes() if rooms else ():
        if item.session in members:
            members[item.session].append(item)
    found = {number: why_too_much(members[number], room) for number, room in rooms.items()}
    for number in filter(found.get, found):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(number, signal.SIGKILL)
    return {number: why for number, why in found.items() if why}


def why_too_much(members: Collection[ProcessFacts], room: Quota) -> str:
    """What processes take too much of together, in words; nothing where they do not."""
    numbers = [item.number for item in members]
    if sum(item.threads for item in members) > THREADS:
        return f"its processes had more than {THREADS} threads together"
    nameless = Nameless.of(numbers, room.folder, room.file_size)
    if nameless.descriptors > DESCRIPTORS:
        return f"its processes had more than {DESCRIPTORS} files open together"
    size, names = _taken(room)
    if room.files is not None and names > room.files:
        return f"it made more than {room.files} files"
    on_disk = max(size + nameless.size, room.written.look(numbers))
    if room.disk is not None and on_disk > room.disk:
        return f"it wrote more than {_mib(room.disk)}"
    in_files = size + nameless.size if room.in_memory else 0.0
    most = math.inf if room.memory is None else room.memory - in_files
    if room.memory is not None and memory_of(numbers, most, files=not room.in_memory) > most:
        return f"its processes took more than {_mib(room.memory)} of memory together"
    return ""


def _mib(size: int) -> str:
    return f"{size / 2**20:.4g} MiB"


def _taken(room: Quota) -> tuple[float, float]:
    """Bytes and names in the workspace, without what was there before. It is not looked at any longer than until that
    is too much."""
    size, count = room.before
    most = (
        size + (math.inf if room.disk is None else room.disk),
        count + (math.inf if room.files is None else room.files),
    )
    held = _held(room.folder, *most)
    return max(0.0, held[0] - size), held[1] - count


def _held(folder: Path, most_bytes: float = math.inf, most_names: float = math.inf) -> tuple[float, float]:
    """Bytes and names in a folder; of one that holds more than that, only that it does. Folders that are nested deeper
    than a path can say are more than anybody may have."""
    size = count = 0
    left = [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    count += 1
                    if size > most_bytes or count > most_names:
                        return size, count
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return math.inf, math.inf
    return size, count


def _kill(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)

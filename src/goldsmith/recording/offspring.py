"""Processes that children have started, seen from the process that forked those children. Linux only: `/proc`."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.recording.clocks import processes
from goldsmith.recording.protocol import Job

CROWD = 64
"""More processes than this in one child's session are a fork bomb."""
_PR_SET_CHILD_SUBREAPER = 36
_BLOCK = 512
_found: dict[Path, tuple[float, float]] = {}
"""How many bytes and names there were in each workspace before anybody's code ran in it."""


def adopt_orphans() -> None:
    """From here on, whatever outlives its own parent below this process becomes a child of this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_strays(children: Collection[int]) -> None:
    """Kill daemons, which have left their session, and whole sessions that have grown into a crowd."""
    sessions: dict[int, int] = {}
    for number, parent, session, *_ in processes():
        sessions[session] = sessions.get(session, 0) + 1
        if parent == os.getpid() and number not in children:
            _kill(number)
    for session, size in sessions.items():
        if session in children and size > CROWD:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)


@dataclass(frozen=True)
class Room:
    """What a child may use up together with everything that it starts. `None` is no limit.

    memory:  bytes that none of them shares with a file
    disk:    bytes: written and not thrown away by them, and lying in the workspace `folder`
    files:   this many names in `folder`

    What was there before anything ran does not count.
    """

    folder: Path
    memory: int | None
    disk: int | None
    files: int | None
    before: tuple[float, float] = (0, 0)


def room_for(job_file: Path) -> Room | None:
    """What the child of a job is left with; None where it is not locked in."""
    job = msgspec.json.decode(job_file.read_bytes(), type=Job)
    if job.confinement is None:
        return None
    given, folder = job.confinement, Path(job.root).parent
    if folder not in _found:
        for gone in [other for other in _found if not other.exists()]:
            del _found[gone]
        _found[folder] = _held(folder)
    return Room(folder, given.memory, given.disk, given.files, _found[folder])


def end_what_takes_too_much(rooms: Mapping[int, Room]) -> None:
    """Limits of the kernel's are for each process, or each file; these are for all of a child's together."""
    if not rooms:
        return
    members: dict[int, list[int]] = {number: [] for number in rooms}
    for item in processes():
        if item.session in members:
            members[item.session].append(item.number)
    for number, room in rooms.items():
        if _takes_too_much(members[number], room):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(number, signal.SIGKILL)


def _takes_too_much(numbers: Collection[int], room: Room) -> bool:
    if room.memory is not None and sum(_memory(number) for number in numbers) > room.memory:
        return True
    if room.disk is not None and sum(_written(number) for number in numbers) > room.disk:
        return True
    return not _fits(room)


def _memory(number: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        _, resident, shared, *_ = Path(f"/proc/{number}/statm").read_text().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _written(number: int) -> int:
    """Also into files without a name, and through memory that is mapped to them."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{number}/io").read_text().splitlines()
        facts = {name: int(value) for name, _, value in (line.partition(":") for line in lines)}
        return facts.get("write_bytes", 0) - facts.get("cancelled_write_bytes", 0)
    return 0


def _fits(room: Room) -> bool:
    """Whether what lies in the workspace is within bounds. It is not looked at any longer than until it is not."""
    size, count = room.before
    most = (
        size + (math.inf if room.disk is None else room.disk),
        count + (math.inf if room.files is None else room.files),
    )
    size, count = _held(room.folder, *most)
    return size <= most[0] and count <= most[1]


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
                        size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
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

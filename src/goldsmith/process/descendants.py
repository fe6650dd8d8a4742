"""Processes that children have started, seen from the fork server that supervises those children. Linux only: `/proc`.

The kernel's own limits are for one process or one file. What is enforced here is for a child and all its descendants
together, so that nothing is gained by spreading work over processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.process.clocks import ProcessFacts
from goldsmith.process.device_memory import device_memory
from goldsmith.process.messages import AnyJob
from goldsmith.process.resource_use import (
    BLOCK_BYTES,
    DiskWrites,
    UnlinkedFiles,
    is_memory_backed,
    memory_of,
    shared_pieces,
    socket_memory,
)
from goldsmith.sandbox.limits import Limits
from goldsmith.sandbox.syscall_policy import MAX_SHARED_BYTES

MAX_PROCESSES = 64
"""More processes than this in one child's session are a fork bomb."""
MAX_THREADS = 512
"""Threads of all processes of a child together: data loaders with workers have some dozens, a library that starts one
for each processor of a large machine a few hundred. The kernel does not limit root's."""
MAX_TASKS = MAX_PROCESSES + MAX_THREADS
"""What a cgroup allows: more than is counted from here, where it can be said what there was too much of. The cgroup is
for what is quicker than that."""
MAX_DESCRIPTORS = 2048
"""Files, pipes and sockets that they have open together: a full socket holds 0.2 MiB that counts for no process."""
_PR_SET_CHILD_SUBREAPER = 36
_initial_use: dict[Path, tuple[float, float]] = {}
"""Bytes and names in each workspace before any submitted code ran in it."""


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none can be lost by double forking."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_orphans(everybody: Iterable[ProcessFacts], children: Collection[int]) -> bool:
    """Kill daemons: processes that have left their session and lost their parent. Return whether there were any."""
    orphans = [item.pid for item in everybody if item.parent == os.getpid() and item.pid not in children]
    for pid in orphans:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(orphans)


def excess_processes(members: Collection[ProcessFacts]) -> str:
    """Return in words that a child has too many processes; "" if it has not."""
    return f"it had more than {MAX_PROCESSES} processes" if len(members) > MAX_PROCESSES else ""


def excess_threads(members: Collection[ProcessFacts]) -> str:
    """Return in words that the processes of a child have too many threads together; "" if they have not."""
    if sum(item.threads for item in members) > MAX_THREADS:
        return f"its processes had more than {MAX_THREADS} threads together"
    return ""


@dataclass(frozen=True)
class Quota:
    """What a child may use together with everything that it starts, including what has ended.

    limits:         `memory` with shared memory, with files where `folder` is `memory_backed`, and with what waits in
                    connections where they have their `own_network`; `device_memory` by its driver's word; `disk` for
                    what they have written and not discarded, and for what the workspace `folder` holds, also in
                    unlinked files
    may_share:      whether they may share memory without a name, as the driver of an accelerator does
    initial_use:    bytes and names that were in `folder` before; they do not count
    """

    folder: Path
    limits: Limits
    initial_use: tuple[float, float] = (0, 0)
    memory_backed: bool = False
    own_network: bool = False
    may_share: bool = False
    writes: DiskWrites = field(default_factory=DiskWrites)


def quota_for(job_file: Path) -> Quota | None:
    """Return what the child of a job may use; None if it is not sandboxed."""
    job = msgspec.json.decode(job_file.read_bytes(), type=AnyJob)
    if job.confinement is None:
        return None
    folder = Path(job.root).parent
    if folder not in _initial_use:
        for removed in [other for other in _initial_use if not other.exists()]:
            del _initial_use[removed]
        _initial_use[folder] = _content(folder)
    if job.confinement.limits.device_memory is not None:
        with contextlib.suppress(OSError):  # told when it is measured
            device_memory()  # from now on, growth counts
    own_network, may_share = job.confinement.loopback, bool(job.confinement.devices)
    return Quota(folder, job.confinement.limits, _initial_use[folder], is_memory_backed(folder), own_network, may_share)


def excess(members: Collection[ProcessFacts], quota: Quota) -> str:
    """Return which resource the processes together use too much of; "" if none.

    This waits for a process that is changing its memory, as each does that forks.
    """
    pids, limits = [item.pid for item in members], quota.limits
    unlinked = UnlinkedFiles.of(pids, quota.folder, limits.file_size)
    if unlinked.descriptors > MAX_DESCRIPTORS:
        return f"its processes had more than {MAX_DESCRIPTORS} files open together"
    size, names = _new_content(quota)
    if limits.files is not None and names > limits.files:
        return f"it made more than {limits.files} files"
    on_disk = max(size + unlinked.size, quota.writes.update(pids))
    if limits.disk is not None and on_disk > limits.disk:
        return f"it wrote more than {_mib(limits.disk)}"
    in_files = size + unlinked.size if quota.memory_backed else 0.0
    if limits.memory is not None:
        left = limits.memory - in_files - (socket_memory(pids) if quota.own_network else 0)
        left -= MAX_SHARED_BYTES * shared_pieces(pids) if quota.may_share else 0
        if memory_of(pids, left, files=not quota.memory_backed) > left:
            return f"its processes took more than {_mib(limits.memory)} of memory together"
    if limits.device_memory is not None and device_memory().of(pids) > limits.device_memory:
        return f"its processes took more than {_mib(limits.device_memory)} of the device's memory together"
    return ""


def _mib(size: int) -> str:
    return f"{size / 2**20:.4g} MiB"


def _new_content(quota: Quota) -> tuple[float, float]:
    """Return how many bytes and names were added to the workspace. Counting stops once that is too much."""
    size, count = quota.initial_use
    limits = quota.limits
    max_bytes = size + (math.inf if limits.disk is None else limits.disk)
    max_names = count + (math.inf if limits.files is None else limits.files)
    bytes_now, names_now = _content(quota.folder, max_bytes, max_names)
    return max(0.0, bytes_now - size), names_now - count


def _content(folder: Path, max_bytes: float = math.inf, max_names: float = math.inf) -> tuple[float, float]:
    """Count bytes and names in a folder, until there are more than the maximum.

    Folders nested deeper than the longest path exceed any quota.
    """
    size = count = 0
    left = [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                    count += 1
                    if size > max_bytes or count > max_names:
                        return size, count
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return math.inf, math.inf
    return size, count

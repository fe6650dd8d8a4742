"""The sandbox that submissions are graded in: what they may read, their limits, and which layers there are here. The
copy of the solution that new gold is checked with runs in it, too."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.check.replay_workspace import SandboxPolicy
from goldsmith.errors.sandbox import NoDeviceInside, NoPrivateNetwork
from goldsmith.process.descendants import MAX_TASKS
from goldsmith.process.device_memory import device_memory
from goldsmith.sandbox import private_network
from goldsmith.sandbox.accelerator import Accelerator, accelerator
from goldsmith.sandbox.bubblewrap import hides as bubblewrap_hides
from goldsmith.sandbox.bubblewrap import prefix as bubblewrap_prefix
from goldsmith.sandbox.capabilities import Level, probe
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.limits import Limits
from goldsmith.sandbox.readable_paths import Reach, reach
from goldsmith.targets.target import Target

MEMORY_GIB = 6.0
"""What all processes of a submission may take together, unless `goldsmith grade --memory` says otherwise."""
OPEN_FILES = 512
DEVICE_SHARE = 0.95
"""Of a device's memory, what a submission may take unless `--device-memory` says otherwise: then it is alone there."""
_GIB = 2**30
_DISK_BYTES, _MAX_FILES = _GIB, 20_000


@dataclass(frozen=True)
class GradingSandbox:
    """How submissions to one assignment are sandboxed. `gold` is the folder of its gold, `memory` is in GiB, and
    `hidden` are folders besides the course's own that no submission may read, even if they are on Python's path.
    `device_memory`, in GiB, is what each may take of the device that the target names; 0 is for nearly all of it."""

    target: Target
    gold: Path
    memory: float = MEMORY_GIB
    hidden: tuple[str, ...] = ()
    device_memory: float = 0.0

    @functools.cached_property
    def accelerator(self) -> Accelerator:
        """Return what is let in of the device that the target names."""
        return accelerator(self.target.device)

    @functools.cached_property
    def device_limit(self) -> int | None:
        """Return what a submission may take of the device's memory, in bytes; None where that is not limited. Raise
        `NoDeviceInside` where nobody could tell what it takes."""
        if not self.accelerator.devices:
            return None
        try:
            return int(self.device_memory * _GIB) or int(DEVICE_SHARE * device_memory().total)
        except OSError as error:
            why = f"its driver does not tell how much of its memory a submission has: {error}"
            raise NoDeviceInside(self.target.device, why) from None

    @property
    def device_turns(self) -> int:
        """Return how many submissions may be on the device at once; 0 where there is none to wait for. Only those that
        have names of their own for sockets are there with others."""
        if self.target.device == "cpu":
            return 0
        return self._room if self.own_names else 1

    @functools.cached_property
    def own_names(self) -> bool:
        """Return whether each submission has a network of its own because others are on the device."""
        return self._room > 1 and not private_network.why_not()

    @property
    def _room(self) -> int:
        """Return for how many submissions the device has memory."""
        limit = self.device_limit
        return 1 if limit is None else max(1, device_memory().total // limit)

    @property
    def loopback(self) -> bool:
        """Return whether sockets are let in, in a private network for each child."""
        return self.target.loopback

    @functools.cached_property
    def reach(self) -> Reach:
        """Return what every process may read: Python, and nothing of the course."""
        found = reach([str(self.target.project.root), *self.hidden], self.target.packages)
        more = (*self.accelerator.readable, *(private_network.readable_files() if self.loopback else ()))
        return Reach(
            (*found.readable, *more),
            found.listable,
            found.folders,
            found.packages,
            found.absent,
        )

    @property
    def confinement(self) -> Confinement:
        """Return the sandbox that all submissions share; a single one's own paths are added later. All results of a
        request are one file, which may be a few times as large as all gold."""
        gold = sum(file.stat().st_size for file in self.gold.iterdir() if file.is_file())
        return Confinement(
            home="",
            readable=self.reach.readable,
            listable=self.reach.listable,
            loopback=self.loopback,
            own_names=self.own_names,
            writable=self.accelerator.writable,
            devices=self.accelerator.devices,
            limits=Limits(
                memory=int(self.memory * _GIB),
                file_size=max(_GIB // 4, 4 * gold),
                disk=max(_DISK_BYTES, 16 * gold),
                files=_MAX_FILES,
                processes=MAX_TASKS,
                open_files=OPEN_FILES,
                cpu_seconds=int(self.target.case_timeout * 60),
                device_memory=self.device_limit,
            ),
        )

    def policy(self, level: Level) -> SandboxPolicy:
        return SandboxPolicy(level, self.confinement)

    def layers(self, temporary_folder: Path, given: Path) -> tuple[Level, list[str]]:
        """Return the sandbox layers available here, and the command prefix that starts the fork server in bubblewrap,
        if a test shows that bubblewrap hides gold and solutions. All submissions read what is in `given`. Raise
        `NoPrivateNetwork` if one is needed and cannot be had there."""
        level, before = self._level_and_prefix([str(temporary_folder)], [str(given)])
        if self.loopback:
            require_private_network(before, self.reach)
        return level, before

    def _level_and_prefix(self, writable: Sequence[str], fixed: Sequence[str]) -> tuple[Level, list[str]]:
        level = probe()
        files = self.target.files
        assert files is not None
        before: list[str] = []
        if level.bubblewrap:
            before = bubblewrap_prefix(
                readable=self.reach.readable, writable=writable, fixed=fixed, devices=self.accelerator.devices
            )
        private = (self.gold, *files.answers, files.internal_tests)
        hidden = [str(path) for path in private]
        if before and bubblewrap_hides(before, hidden=hidden, writable=writable):
            return level, before
        return msgspec.structs.replace(level, bubblewrap=False), []


def require_private_network(before: Sequence[str] = (), limits: Reach | None = None) -> None:
    """Raise `NoPrivateNetwork` unless a process, started with `before` its command line, can have one: tried."""
    problem = private_network.why_not(tuple(before), limits)
    if problem:
        raise NoPrivateNetwork(problem)

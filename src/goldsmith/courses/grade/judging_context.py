"""What one process needs to judge submissions: gold, a fork server, and whether the run still goes on."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from goldsmith.check.replay_workspace import input_file
from goldsmith.check.request import OpenGold, Request, open_gold
from goldsmith.process.device_probe import DeviceTrial, require_device
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import deterministic_environment
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.limits import clean_environment
from goldsmith.targets.target import Submission
from goldsmith.workspace.temporary import private_folder

if TYPE_CHECKING:
    from goldsmith.courses.grade.grader import Grader

_ARENA_MAX, _MMAP_THRESHOLD, _MMAP_BYTES = -8, -3, 2**18
stopped = threading.Event()
"""Set once the run has been interrupted."""


class Stopped(Exception):
    """The run was interrupted, and nothing more is judged."""


@dataclass
class JudgingContext:
    """What one process needs to judge: gold, a private folder with gold's inputs and weights, and a fork server that
    has seen nothing else of gold, nor this process's environment. `level` says which sandbox layers surround its
    children."""

    opened: OpenGold
    fork_server: ForkClient
    temporary_folder: Path
    level: Level | None
    closing: contextlib.ExitStack
    used: float = 0.0

    @classmethod
    def of(cls, grader: Grader) -> JudgingContext:
        with contextlib.ExitStack() as stack:
            temporary_folder = stack.enter_context(private_folder())
            given, home = temporary_folder / "given", temporary_folder / "home"
            given.mkdir()
            home.mkdir()
            environment = clean_environment(str(home), environment=deterministic_environment(grader.options.threads))
            request = Request(allow_stale=grader.allow_stale)
            gold = open_gold(grader.target, Submission(""), allow_stale=grader.allow_stale)
            level, before = grader.sandbox.layers(temporary_folder, given) if grader.sandboxed else (None, [])
            libraries = gold.manifest.provenance.environment.libraries
            reached = grader.sandbox.reach if level is not None else None
            if grader.target.device != "cpu":
                own = msgspec.structs.replace(grader.sandbox.confinement, home=str(home))
                trial = DeviceTrial(grader.target.device, tuple(libraries), own if level is not None else None, level)
                require_device(trial, environment, before, reached)
            fork_server = ForkClient(preload=libraries, environment=environment, command_prefix=before, reach=reached)
            stack.callback(fork_server.close)
            fork_server.prestart(environment)
            opened = OpenGold.of(grader.target, Submission(""), request)
            fork_server.preload_files([input_file(case, given) for case in opened.golds.values()])
            return cls(dataclasses.replace(opened, given=given), fork_server, temporary_folder, level, stack.pop_all())

    def close(self) -> None:
        self.closing.close()


def limit_malloc_arenas() -> None:
    """Use one malloc arena for all threads, and mmap for large arrays: otherwise the heap fragments, and the memory of
    a long run keeps growing."""
    with contextlib.suppress(OSError, AttributeError):  # not every C library has mallopt
        for option, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _MMAP_BYTES)):
            ctypes.CDLL(None).mallopt(option, value)

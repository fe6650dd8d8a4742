"""Find out whether a device can be computed on from within the sandbox, once, before anybody is graded: where it
cannot, everybody's cases would fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

import msgspec

from goldsmith.errors.recipe import DeviceMissing
from goldsmith.errors.sandbox import NoDeviceInside
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.interpreter import command as interpreter_command
from goldsmith.sandbox.readable_paths import Reach

PROGRAM = "goldsmith.worker.try_device"
NOT_THERE, YES = 4, "it computes"
_TIMEOUT_S = 120.0


class DeviceTrial(msgspec.Struct, frozen=True):
    """What is tried: a device, with these libraries, in this sandbox."""

    device: str
    libraries: tuple[str, ...]
    confinement: Confinement | None = None
    level: Level | None = None


def require_device(
    trial: DeviceTrial, environment: Mapping[str, str], before: Sequence[str] = (), reach: Reach | None = None
) -> None:
    """Raise `DeviceMissing` unless there is such a device, and `NoDeviceInside` unless it can be used in this sandbox,
    by a process that is started with `before` its command line, and imports from `reach` only."""
    program = [sys.executable, "-P", "-m", PROGRAM]
    if reach is not None:
        program = interpreter_command(PROGRAM, reach.folders, reach.packages, reach.absent)
    try:
        run = subprocess.run(
            [*before, *program, msgspec.json.encode(trial).decode()],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoDeviceInside(trial.device, f"it could not be tried: {type(error).__name__}") from None
    if run.stdout.endswith(YES):
        return
    last = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
    if run.returncode == NOT_THERE:
        if trial.confinement is None:
            raise DeviceMissing(trial.device, last.split(", "))
        require_device(DeviceTrial(trial.device, trial.libraries), environment)  # is it there for anybody?
        last = "no library sees it in there"
    raise NoDeviceInside(trial.device, last)

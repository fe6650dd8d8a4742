"""Try to compute on a device, perhaps in a sandbox: `python -m goldsmith.worker.try_device TRIAL`."""

from __future__ import annotations

import contextlib
import sys

import msgspec

from goldsmith.frameworks.devices import NoSuchDevice, check_device, settle
from goldsmith.frameworks.framework import framework
from goldsmith.process.device_probe import NOT_THERE, YES, DeviceTrial
from goldsmith.sandbox.confinement import confine


def try_device(trial: DeviceTrial) -> int:
    """Say on standard output that it computes; else why not, and return an exit code."""
    if trial.confinement is not None:
        confine(trial.confinement, trial.level)
    for name in trial.libraries:
        with contextlib.suppress(ModuleNotFoundError):
            framework(name).preload()
    try:
        check_device(trial.device)
    except NoSuchDevice as there_are:
        print(there_are, file=sys.stderr)
        return NOT_THERE
    settle(trial.device)
    print(end=YES)
    return 0


if __name__ == "__main__":
    sys.exit(try_device(msgspec.json.decode(sys.argv[1], type=DeviceTrial)))

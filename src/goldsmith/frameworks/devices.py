"""Say whether a device is here, and what holds for it in this process."""

from __future__ import annotations

import contextlib

from goldsmith.frameworks.framework import active, registered


class NoSuchDevice(Exception):
    """A device that is not here; the message lists those that are."""


def check_device(device: str) -> None:
    """Raise `NoSuchDevice` unless arrays can be made on a device by a library in use, by any where none is yet."""
    available = ["cpu"]
    if device == "cpu":
        return
    in_use = [framework for framework in active() if framework.models.TYPES]
    for framework in in_use or registered():
        with contextlib.suppress(ModuleNotFoundError):
            if framework.process.has_device(device):
                return
            available += framework.process.devices()
    raise NoSuchDevice(", ".join(available)) from None


def settle(device: str) -> None:
    """Wait for all that a device was asked to compute; raise what went wrong there."""
    for framework in active():
        framework.process.settle(device)


def limit_memory(device: str, size: int) -> None:
    """Let arrays take so many bytes of a device's memory, in every library in use."""
    for framework in active():
        framework.process.limit_memory(device, size)

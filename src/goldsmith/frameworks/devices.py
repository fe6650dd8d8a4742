"""Say whether a device is here."""

from __future__ import annotations

import contextlib

from goldsmith.frameworks.framework import registered


class NoSuchDevice(Exception):
    """A device that is not here; the message lists those that are."""


def check_device(device: str) -> None:
    """Raise `NoSuchDevice` unless arrays can be made on a device."""
    available = ["cpu"]
    if device == "cpu":
        return
    for framework in registered():
        with contextlib.suppress(ModuleNotFoundError):
            if framework.process.has_device(device):
                return
            available += framework.process.devices()
    raise NoSuchDevice(", ".join(available)) from None

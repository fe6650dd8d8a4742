"""Say whether a device is here."""

from __future__ import annotations


class NoSuchDevice(Exception):
    """A device that is not here; the message lists those that are."""


def check_device(device: str) -> None:
    """Raise `NoSuchDevice` unless tensors can be made on a device."""
    if device == "cpu":
        return
    try:
        import torch
    except ModuleNotFoundError:
        raise NoSuchDevice("cpu") from None
    available = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    try:
        torch.empty(1, device=device)
    except Exception:  # each backend raises its own
        raise NoSuchDevice(", ".join(available)) from None

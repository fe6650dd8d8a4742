"""Torch in a process: preloaded before children are forked, its devices, and what bears on the bits it computes."""

from __future__ import annotations

from typing import Any

import torch

PACKAGES = ("torch",)


def preload() -> None:
    """Import what torch imports late: making the first optimiser takes as long as torch itself.

    Do not differentiate anything: autograd's threads would not survive a fork.
    """
    import safetensors.torch  # noqa: F401

    torch.set_num_threads(1)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)


def is_started() -> bool:
    return False


def devices() -> list[str]:
    """List the devices besides the CPU."""
    found = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return [*found, "mps"] if torch.backends.mps.is_available() else found


def device_names() -> list[str]:
    """List them as their makers call them."""
    return [torch.cuda.get_device_name(item) if item.startswith("cuda") else item for item in devices()]


def has_device(device: str) -> bool:
    try:
        torch.empty(1, device=device)
    except Exception:  # each backend raises its own
        return False
    return True


def environment(device: str) -> dict[str, Any]:
    """Return the fields of `gold.facts.Environment` that torch knows."""
    return {
        "torch": str(torch.__version__),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    } | ({"device": f"{device} ({torch.cuda.get_device_name(device)})"} if device.startswith("cuda") else {})


def cpu_capability() -> str:
    """Name the instruction set that is used."""
    return torch.backends.cpu.get_cpu_capability()

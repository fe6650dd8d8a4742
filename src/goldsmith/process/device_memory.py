"""How much memory of an accelerator processes have, by its driver, whom they cannot deceive. NVIDIA's only.

NVML does not start CUDA, and so harms nobody who forks.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Collection, Iterator
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
_TOO_SMALL = 7
_UNKNOWN = 2**64 - 1
_LISTS = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3")


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute", ctypes.c_uint),
    )


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class DeviceMemory:
    """The memory of all cards of this machine. Raises `OSError` where there is no driver, or it does not tell."""

    def __init__(self) -> None:
        self._nvml = ctypes.CDLL(LIBRARY)
        self._ask("nvmlInit_v2")
        count = ctypes.c_uint()
        self._ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
        self._cards = [ctypes.c_void_p() for _ in range(count.value)]
        for number, card in enumerate(self._cards):
            self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(number), ctypes.byref(card))
        self._before = self.used

    @property
    def total(self) -> int:
        """Return the bytes of the smallest card."""
        return min((item.total for item in self._memory()), default=0)

    @property
    def used(self) -> int:
        """Return the bytes in use on all cards."""
        return sum(item.used for item in self._memory())

    def of(self, pids: Collection[int]) -> int:
        """Return the bytes that these processes have. Where the driver tells the numbers that processes have in another
        namespace, return by how much all use has grown since this was made."""
        found: dict[int, int] = {}
        for pid, used in self._processes():
            found[pid] = max(used, found.get(pid, 0))
        if not all(os.path.exists(f"/proc/{pid}") for pid in found) and found.keys().isdisjoint(pids):
            return max(0, self.used - self._before)
        return sum(used for pid, used in found.items() if pid in pids)

    def _processes(self) -> Iterator[tuple[int, int]]:
        for card in self._cards:
            for name in _LISTS:
                for item in self._listed(name, card):
                    if item.used == _UNKNOWN:
                        raise OSError("the driver does not tell how much memory a process has")
                    yield item.pid, item.used

    def _listed(self, name: str, card: ctypes.c_void_p) -> list[_Process]:
        room = 64
        while True:
            count, items = ctypes.c_uint(room), (_Process * room)()
            if self._ask(name, card, ctypes.byref(count), items, fine=(0, _TOO_SMALL)) == 0:
                return list(items[: count.value])
            room = 2 * max(room, count.value)

    def _memory(self) -> Iterator[_Memory]:
        for card in self._cards:
            found = _Memory()
            self._ask("nvmlDeviceGetMemoryInfo", card, ctypes.byref(found))
            yield found

    def _ask(self, name: str, *arguments: Any, fine: tuple[int, ...] = (0,)) -> int:
        try:
            code = int(getattr(self._nvml, name)(*arguments))
        except AttributeError:
            raise OSError(f"the driver is too old: it has no {name}") from None
        if code not in fine:
            raise OSError(f"the driver answers {name} with error {code}")
        return code


@functools.cache
def device_memory() -> DeviceMemory:
    """Return the memory of this machine's cards, asked for once in a process."""
    return DeviceMemory()


def used_on_device() -> int:
    """Return the bytes in use on all cards; 0 where there is no driver to ask."""
    try:
        return device_memory().used
    except OSError:
        return 0

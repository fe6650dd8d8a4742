"""What lets an accelerator into the sandbox, and nothing else: the files of its driver. The system calls are in
`syscall_policy.py`. Measured by `benchmarks/grade_on_gpu.py`, which takes each away in turn."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator

import msgspec

_CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""Not `/dev/nvidia-uvm-tools`, which watches other processes, and not `/dev/nvidia-caps`, which divides cards."""
_CARD = re.compile(r"/dev/nvidia\d+")
_READ = (
    "/proc/driver/nvidia", "/proc/devices", "/proc/sys/vm/mmap_min_addr", "/sys/module/nvidia/version",
    "/sys/devices/system/memory/block_size_bytes", "/etc/nvidia",
)  # fmt: skip
_OWN_THREADS = ("/proc/self/task",)
"""Where the driver writes the names of its threads: of this process, which may write into its own memory anyway."""
_HEADERS = ("/usr/include",)
"""What a compiler of kernels, such as Triton's, includes."""
_LIBRARY = "libcuda.so.1"
_USUAL_FOLDERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib")


class Accelerator(msgspec.Struct, frozen=True):
    """Files that a process needs to compute on an accelerator: `devices` are opened and controlled, others read or
    written."""

    devices: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


def accelerator(device: str) -> Accelerator:
    """Return what the sandbox lets in for a device, as `--device` names it; nothing for the processor itself."""
    if device.partition(":")[0] != "cuda":
        return Accelerator()
    cards = sorted(path for path in glob.glob("/dev/nvidia*") if _CARD.fullmatch(path))
    devices = tuple(path for path in (*_CONTROL, *cards) if os.path.exists(path))
    readable = (*_READ, *_HEADERS, *_driver_folders())
    return Accelerator(devices, readable, _OWN_THREADS) if cards else Accelerator()


def _driver_folders() -> Iterator[str]:
    """Yield where the driver's libraries are, if not where all libraries are."""
    given = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for folder in dict.fromkeys((*given, *_USUAL_FOLDERS)):
        if os.path.isabs(folder) and os.path.exists(f"{folder}/{_LIBRARY}"):
            yield folder

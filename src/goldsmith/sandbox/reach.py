"""What a Python process needs to read in order to go on working: the interpreter, its packages, libraries, facts."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HARMLESS_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that may be written to as well: nothing stays there. Not `/dev/zero`, which can be mapped as memory that no
process has."""

_SYSTEM = (
    "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
    "/usr/local/bin", "/usr/local/lib", "/usr/local/cuda", "/usr/share", "/nix/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/locale.alias",
    "/etc/locale.conf", "/etc/os-release", "/etc/mime.types", "/etc/fonts", "/etc/alternatives",
)  # fmt: skip
_FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id",
    "/proc/self/status", "/proc/self/stat", "/proc/self/statm", "/proc/self/maps", "/proc/self/cgroup",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/hugepages",
)  # fmt: skip
"""About the processor, the memory and this process itself: never `/proc` as a whole, where other processes are."""
_GPU = ("/proc/driver/nvidia", "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/class/drm", "/sys/bus/pci/devices")
_GPU_DEVICES = ("nvidia*", "dri", "kfd")
_OF_A_PREFIX = ("bin", "include", "lib", "lib64", "share", "etc", "pyvenv.cfg")


def inherited_readable(hidden: Iterable[str] = ()) -> tuple[str, ...]:
    """Files and folders that a Python child with torch needs to read. Nothing in `hidden` (the course) is among them,
    but for a virtual environment that lives there. Home, `/tmp` and folders around them never are."""
    closed = [_real(folder) for folder in hidden]
    never = [*closed, *(_real(folder) for folder in (os.path.expanduser("~"), "/tmp", tempfile.gettempdir(), "/root"))]
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    found: dict[str, None] = {}
    for prefix in sorted(prefixes):
        found.update(dict.fromkeys(_of_prefix(prefix, never)))
    imported = [*sys.path, str(Path(__file__).parents[2]), *_library_folders()]
    for entry in imported:
        if entry and os.path.isabs(entry) and not _holds(entry, never) and not _is_within(entry, closed):
            found[entry] = None
    executable = os.path.realpath(sys.executable) if sys.executable else ""
    system = [path for path in _SYSTEM if not _holds(path, closed)]
    found.update(dict.fromkeys([executable, *system, *_FACTS]))
    return _outermost(path for path in found if path)


def accelerators() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to read and which devices to open so that a GPU can be used. They are not among what is inherited."""
    devices = [str(path) for pattern in _GPU_DEVICES for path in sorted(Path("/dev").glob(pattern))]
    return (_GPU if devices else ()), tuple(devices)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that exist and do not lie in another of them."""
    there = [path for path in paths if os.path.exists(path)]
    return tuple(path for path in there if not any(path.startswith(other + "/") for other in there))


def _of_prefix(prefix: str, closed: Sequence[str]) -> Iterator[str]:
    """An installation's folder, or, where something closed is in it, the parts that an installation consists of."""
    if not _holds(prefix, closed):
        yield prefix
        return
    for name in _OF_A_PREFIX:
        path = os.path.join(prefix, name)
        if not _holds(path, closed):
            yield path


def _library_folders() -> Iterator[str]:
    """Folders of the shared libraries that this process has loaded: their neighbours may be loaded later."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return
    files = {line.split(maxsplit=5)[5] for line in lines if ".so" in line and line.count("/")}
    yield from sorted({os.path.dirname(file) for file in files if file.startswith("/")})


def _holds(folder: str, closed: Iterable[str]) -> bool:
    """Whether something closed is this folder, or lies in it."""
    return any(_is_within(path, [_real(folder)]) for path in closed)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    real = _real(path)
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)


def _real(path: str) -> str:
    return os.path.realpath(path)

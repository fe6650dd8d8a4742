"""Paths that a Python process must be able to read: the interpreter, packages, libraries, system information."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.sandbox.packages import other_sites, places_of, visible_packages

HARMLESS_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that may also be written to, as nothing is stored. Not `/dev/zero`: memory mapped from it is not counted."""

_SYSTEM = (
    "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
    "/usr/local/bin", "/usr/local/lib", "/usr/local/cuda", "/usr/share", "/nix/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/locale.alias",
    "/etc/locale.conf", "/etc/os-release", "/etc/mime.types", "/etc/fonts", "/etc/alternatives",
)  # fmt: skip
_SYSTEM_INFORMATION = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id",
    "/proc/self/status", "/proc/self/stat", "/proc/self/statm", "/proc/self/maps", "/proc/self/cgroup",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/hugepages",
)  # fmt: skip
"""On the processor, the memory and this process itself; never all of `/proc`, which shows other processes."""
_PREFIX_ENTRIES = ("bin", "include", "lib", "lib64", "libexec", "share", "ssl", "etc", "pyvenv.cfg")


@dataclass(frozen=True)
class Reach:
    """Paths that a Python child with torch can reach. `listable` folders can only be listed, as an import does to find
    a module. It imports from `folders`, except `absent` modules, and imports `packages`, by name, from elsewhere."""

    readable: tuple[str, ...]
    listable: tuple[str, ...]
    folders: tuple[str, ...]
    packages: dict[str, str]
    absent: tuple[str, ...]


def reach(hidden: Iterable[str] = (), packages: Sequence[str] = ()) -> Reach:
    """Return the files and folders that a Python child with torch needs.

    Nothing in `hidden` (the course) is among them, except a virtual environment there. Nor are home, `/tmp` and folders
    around them, the bundled example, and what staff installed from their own folders, except these `packages`.
    """
    closed = [_real(folder) for folder in hidden]
    seen = visible_packages(packages)
    elsewhere = {name: place for name in packages for place in places_of(name) if not _is_within(place, seen.sites)}
    never = [*closed, *(_real(folder) for folder in (os.path.expanduser("~"), "/tmp", tempfile.gettempdir(), "/root"))]
    found: dict[str, None] = {}
    for prefix in sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}):
        parts = (os.path.join(prefix, name) for name in _PREFIX_ENTRIES)
        found |= dict.fromkeys(path for path in parts if not _holds(path, never))
    found |= dict.fromkeys(path for path in _SYSTEM if not _holds(path, closed))
    found |= dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    sites = [*seen.sites, *other_sites(tuple(found))]
    imported = [_real(entry) for entry in sys.path if entry and os.path.isabs(entry)]
    strange = [entry for entry in imported if not _is_within(entry, [_real(path) for path in found])]
    libraries = (folder for folder in _library_folders() if not _is_within(folder, strange))
    found |= dict.fromkeys(path for path in libraries if not _holds(path, never) and not _is_within(path, closed))
    holes, own = _Holes([*seen.hidden, *sites]), _Holes(seen.hidden)
    system = [_real(path) for path in found]
    readable = dict.fromkeys(part for path in found for part in holes.around(path, system))
    beside = [*system, *map(_real, (*seen.sites, *elsewhere.values()))]
    readable |= dict.fromkeys(part for path in seen.readable for part in own.around(path, beside))
    executables = (sys.executable, _real(sys.executable)) if sys.executable else ()
    readable |= dict.fromkeys((*executables, *_SYSTEM_INFORMATION))
    listable = dict.fromkeys((*seen.sites, *holes.split, *own.split))
    return Reach(_outermost(readable), tuple(listable), seen.sites, elsewhere, seen.absent)


class _Holes:
    """Paths that must not become readable along with a folder that contains them. Permissions only add up, so what is
    around a hole must be listed piece by piece; `split` are the folders for which that is done."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._holes = {_real(path) for path in paths}
        self._above = {parent for hole in self._holes for parent in _parents(hole)}
        self.split: dict[str, None] = {}

    def around(self, path: str, within: Sequence[str], real: str = "") -> Iterator[str]:
        """Yield `path`, or the parts of it without a hole. Links must stay `within` these folders. `real` is the
        resolved path, if it is known."""
        is_link = not real
        real = real or _real(path)
        if not os.path.exists(real) or not self._holes.isdisjoint((real, *_parents(real))):
            return
        if is_link and not any(real == place or real.startswith(f"{place}/") for place in within):
            return
        if real not in self._above:
            yield path
            return
        self.split[path] = None
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            target = "" if entry.is_symlink() else os.path.join(real, entry.name)
            yield from self.around(entry.path, within, target)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those that exist and are not inside another of them."""
    there = {path: None for path in paths if os.path.exists(path)}
    return tuple(path for path in there if not any(parent in there for parent in _parents(path)))


def _parents(path: str) -> Iterator[str]:
    while path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
        yield path


def _library_folders() -> Iterator[str]:
    """Yield the folders of the shared libraries that this process has loaded: their neighbours may be loaded later."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return
    files = {line.split(maxsplit=5)[5] for line in lines if ".so" in line and line.count("/")}
    yield from sorted({os.path.dirname(file) for file in files if file.startswith("/")})


def _holds(folder: str, closed: Iterable[str]) -> bool:
    """Return whether something closed is this folder, or inside it."""
    return any(_is_within(path, [_real(folder)]) for path in closed)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    real = _real(path)
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)


def _real(path: str) -> str:
    return os.path.realpath(path)

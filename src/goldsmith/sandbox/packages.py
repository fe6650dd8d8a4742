"""Installed packages that a sandboxed process may see: those from a package index, and what goldsmith needs.

What staff have installed from their own folders (editable or not), `PYTHONPATH`, `.pth` files and modules that belong
to no distribution stay hidden, unless the course names them in `packages`.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib.util
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = "_example"
"""The bundled example, with solutions, in goldsmith's own package; no sandboxed process ever sees it."""
PACKAGE = Path(__file__).resolve().parents[1]
_INFO = ".dist-info"
_SITES = ("site-packages", "dist-packages")
_NEEDED = ("goldsmith", "torch", "numpy")
_SYSTEM_SITE = re.compile(r"/usr/lib/python3/dist-packages$")
"""The folder of the system's own packages only, which often have no list of their files."""


@dataclass(frozen=True)
class Distribution:
    """One installed distribution: `tops` are its entries directly in the `site` folder. `files`, relative to that, are
    known for a local one, which came from a folder, a file or a repository instead of an index."""

    name: str
    site: str
    tops: frozenset[str]
    requires: frozenset[str]
    is_local: bool
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packages:
    """Installed packages that may be read: `readable` entries of site folders; `hidden` files that must stay hidden
    wherever else they would be readable; `sites` are the folders that modules are looked for in, and `absent` the
    modules there that must not be found."""

    readable: tuple[str, ...]
    hidden: tuple[str, ...]
    sites: tuple[str, ...]
    absent: tuple[str, ...]


def site_folders() -> tuple[str, ...]:
    """Return the folders on the import path that hold installed distributions, in its order."""
    known = [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    found = (path for path in known if path and os.path.isabs(path) and os.path.isdir(path))
    return tuple(dict.fromkeys(path for path in found if _is_site(path)))


def _is_site(path: str) -> bool:
    return os.path.basename(path) in _SITES or any(Path(path).glob(f"*{_INFO}/RECORD"))


@functools.cache
def other_sites(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return site folders of any interpreter below `folders` such as `/usr/lib`: nothing needs their contents."""
    found = (os.path.realpath(path) for folder in folders for name in _SITES for path in Path(folder).glob(f"*/{name}"))
    return tuple(path for path in found if not _SYSTEM_SITE.search(path))


def visible_packages(declared: Sequence[str] = ()) -> Packages:
    """Return which installed packages a sandboxed process may read; `declared` are further modules, by import name."""
    return _visible_packages(tuple(declared), site_folders(), tuple(sys.path))


@functools.lru_cache(maxsize=4)
def _visible_packages(declared: tuple[str, ...], sites: tuple[str, ...], path: tuple[str, ...]) -> Packages:
    """Compute `visible_packages`, cached for this `path`: reading every file list takes a quarter of a second."""
    found = [item for site in sites for item in _distributions(site)]
    needed = _closure({*_NEEDED}, found)
    hidden = [item for item in found if item.is_local and item.name not in needed and not item.tops & set(declared)]
    readable: dict[str, None] = {}
    absent: set[str] = set()
    for site in sites:
        if _SYSTEM_SITE.search(site):
            readable[site] = None
            continue
        own = (item for item in found if item.site == site and item not in hidden)
        tops = {top for item in own for top in item.tops if _may_be_seen(top)}
        readable |= dict.fromkeys(os.path.join(site, top) for top in sorted(tops))
        absent |= {name.partition(".")[0] for name in os.listdir(site) if name not in tops}
    readable |= dict.fromkeys(str(path) for path in sorted(PACKAGE.iterdir()) if path.name != EXAMPLE)
    readable |= dict.fromkeys(place for name in declared for place in places_of(name))
    seen = {os.path.basename(path).partition(".")[0] for path in readable} | {"goldsmith"}
    examples = [os.path.join(site, "goldsmith", EXAMPLE) for site in sites]
    return Packages(
        readable=tuple(readable),
        hidden=(*examples, str(PACKAGE / EXAMPLE), *(path for item in hidden for path in _paths(item))),
        sites=(*sites, str(PACKAGE.parent)),
        absent=tuple(sorted(name for name in absent - seen if name.isidentifier() and name not in declared)),
    )


def places_of(module: str) -> tuple[str, ...]:
    """Return where the installed top-level `module` is: folders of a package, or one file; empty if it is not there."""
    if not module.isidentifier():
        return ()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations is not None:
        return tuple(dict.fromkeys(os.path.abspath(place) for place in spec.submodule_search_locations))
    return (os.path.abspath(spec.origin),) if spec.origin and os.path.exists(spec.origin) else ()


def _may_be_seen(top: str) -> bool:
    """Return false for what runs at every start, and for compiled code of unknown modules."""
    return top != "__pycache__" and not top.endswith((".pth", ".egg-link")) and not top.startswith("__editable__")


def _paths(distribution: Distribution) -> Iterator[str]:
    """Yield its files, wherever they are, and the folders of their compiled code."""
    for file in distribution.files:
        path = os.path.normpath(os.path.join(distribution.site, file))
        yield path
        folder = os.path.dirname(path)
        if path.endswith(".py") and folder != distribution.site:
            yield os.path.join(folder, "__pycache__")


def _closure(names: set[str], found: Sequence[Distribution]) -> set[str]:
    by_name = {item.name: item for item in found}
    todo, known = list(names), set(names)
    while todo:
        item = by_name.get(todo.pop())
        new = (item.requires if item else frozenset()) - known
        known |= new
        todo += new
    return known


def _distributions(site: str) -> Iterator[Distribution]:
    for info in sorted(Path(site).glob(f"*{_INFO}")):
        name = _normal(info.name.removesuffix(_INFO).partition("-")[0])
        files = (*_recorded(info), *_claimed(info, name), info.name)
        tops = frozenset({file.partition("/")[0] for file in files} - {"..", ""})
        is_local = _is_local(info)
        yield Distribution(name, site, tops, frozenset(_requires(info)), is_local, files if is_local else ())


def _recorded(info: Path) -> Iterator[str]:
    with contextlib.suppress(OSError, csv.Error), (info / "RECORD").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            yield next(csv.reader([line]))[0] if line.startswith('"') else line.partition(",")[0]


def _claimed(info: Path, name: str) -> Iterator[str]:
    """Yield the entries of a distribution without a RECORD: modules of the names that it gives, or of its own name."""
    if (info / "RECORD").is_file():
        return
    try:
        tops = (info / "top_level.txt").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        tops = [name.replace("-", "_")]
    for top in tops:
        yield from (top, f"{top}.py")


def _requires(info: Path) -> Iterator[str]:
    with contextlib.suppress(OSError), (info / "METADATA").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                return
            found = re.match(r"Requires-Dist:\s*([\w.-]+)", line)
            if found and "extra ==" not in line:
                yield _normal(found[1])


def _is_local(info: Path) -> bool:
    """Return whether PEP 610's record names a local origin. In Conda's packages it names the builder's folder."""
    try:
        origin = json.loads((info / "direct_url.json").read_bytes())
        installer = (info / "INSTALLER").read_text().strip() if (info / "INSTALLER").is_file() else ""
        is_remote_archive = "archive_info" in origin and not str(origin.get("url", "")).startswith("file:")
    except FileNotFoundError:
        return False
    except (OSError, ValueError, AttributeError):
        return True
    return installer != "conda" and not is_remote_archive


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

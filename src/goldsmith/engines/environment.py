"""What must be the same here and on a worker, so that it gives the verdicts that this machine would give."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from goldsmith.gold.facts import installed_version

_PACKAGE = Path(__file__).resolve().parents[1]
_ABSENT = "not installed"


def environment_facts(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python, of goldsmith by the hash of its source, and of `packages`."""
    own = {name: installed_version(name) or _ABSENT for name in packages}
    return {"Python": platform.python_version(), **own, "goldsmith": source_hash()}


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> Iterator[str]:
    """Yield in words what differs."""
    for name, own in here.items():
        theirs = there.get(name, _ABSENT)
        if theirs == own:
            continue
        if name == "goldsmith":
            yield "its goldsmith is not made of the same source"
        else:
            yield f"{name} is {theirs[:40]} there and {own} here"


@functools.cache
def source_hash() -> str:
    """Hash goldsmith's own code, by which alone two installations judge in the same way."""
    total = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        inside = path.relative_to(_PACKAGE).as_posix()
        if not inside.startswith("_example/"):
            total.update(f"{inside} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()

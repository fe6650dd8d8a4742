"""Names of files in the archive of all submissions that Canvas offers: whose a file is, and what it was called."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_DOWNLOADED = re.compile(r"(?:(?P<who>.*?)_)?(?:LATE_)?(?P<id>\d+)_\d+_(?P<name>.+)", re.I | re.S)
"""The student's name, LATE, the student's ID, the file's, and the name that it was submitted under."""
_SUBMITTED_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
"""What Canvas adds to the name of a file that was submitted before."""


def student_id(name: str) -> str:
    """Return the ID in a file's name; "" if Canvas did not name it."""
    found = _DOWNLOADED.fullmatch(name)
    return found["id"] if found else ""


def group_by_student(names: Iterable[str]) -> list[list[str]]:
    """Group the names of files: those of one student have the same name and ID before them, and different names of
    their own. All others are alone, so that names which only look like Canvas's put no two people together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        found = _DOWNLOADED.fullmatch(name)
        key = (found["who"], found["id"]) if found is not None and found["who"] else (name,)
        groups.setdefault(key, []).append(name)
    split: list[list[str]] = []
    for group in groups.values():
        own = {found["name"].casefold() for name in group if (found := _DOWNLOADED.fullmatch(name)) is not None}
        split += [group] if len(own) == len(group) else [[name] for name in group]
    return split


def submitted_name(name: str, wanted: Collection[str], *, again: bool = False) -> str:
    """Return what a file was called when it was submitted, or its name if Canvas did not give it that; of two
    possibilities, the one that is wanted, or what Canvas calls it if there is one of that name `again`."""
    found = _DOWNLOADED.fullmatch(name)
    if found is None or name in wanted:
        return name
    return found["name"] if again or found["name"] in wanted else _SUBMITTED_AGAIN.sub("", found["name"])

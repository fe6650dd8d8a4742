"""Folders of submissions that no setting declares: one finding for each, not one for every right answer in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from goldsmith.courses.guard.leaks import Finding
from goldsmith.courses.layout.layout import Course
from goldsmith.foundation.wording import count_of

_KINDS = ("solution", "private", "marker")
"""What a right answer looks like; gold and passwords are told of wherever they are."""


def as_class_folders(found: Sequence[Finding], names: Iterable[str], course: Course) -> list[Finding]:
    """Replace what was found in a folder in which several entries have the same file of a starter."""
    suspects = [item for item in found if item.kind in _KINDS and not item.commit]
    folders = _class_folders(names, course) if suspects else {}
    kept = [item for item in found if item not in suspects or _folder_of(item.file, folders) is None]
    told = dict.fromkeys(folder for item in suspects if (folder := _folder_of(item.file, folders)) is not None)
    for folder in told:
        file, entries = folders[folder]
        some = ", ".join(entries[:3]) + (", …" if len(entries) > 3 else "")
        why = f"it looks like {count_of(len(entries), 'submission')}, each with {file} ({some})"
        more = "; if it is not for students, name it in `private` of [guard] in goldsmith.toml"
        kept.append(Finding(kind="private", file=folder, why=why + more))
    return kept


def _folder_of(file: str, folders: Iterable[str]) -> str | None:
    return next((folder for folder in folders if PurePosixPath(file).is_relative_to(folder)), None)


def _ends_of(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[number:]) for number in range(1, len(parts))]


def _class_folders(names: Iterable[str], course: Course) -> dict[str, tuple[str, list[str]]]:
    """Return by folder the starter's file that several of its entries have, and these entries."""
    own = {
        course.relative(path).as_posix(): path.relative_to(assignment.starter).as_posix()
        for assignment in course.assignments()
        for path in assignment.files()
    }
    if course.whole_assignment:  # everything at the root is its starter's: what lies elsewhere once more is not
        files = set(own)
        own = {name: file for name, file in own.items() if not files.intersection(_ends_of(name))}
    inside = [PurePosixPath(name) for name in names if name not in own]
    found: dict[str, tuple[str, list[str]]] = {}
    for file in sorted(set(own.values()), key=lambda item: (-item.count("/"), item)):
        by_folder: dict[str, set[str]] = {}
        for path in inside:
            if path.name == PurePosixPath(file).name and f"/{path}".endswith(f"/{file}"):
                for above in path.parents:
                    if len(above.parts) > 1:
                        by_folder.setdefault(above.parent.as_posix(), set()).add(above.name)
        for folder, entries in by_folder.items():
            if len(entries) > 1 and not any(PurePosixPath(mine).is_relative_to(folder) for mine in own):
                found.setdefault(folder, (file, sorted(entries)))
    outer = {name for name in found if not any(name != other and _folder_of(name, [other]) for other in found)}
    return {name: found[name] for name in found if name in outer}

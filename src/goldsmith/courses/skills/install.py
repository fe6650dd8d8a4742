"""Installation of skills in a repository: write files that are missing or outdated, leave those that users edited."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from goldsmith.courses.skills.bundled import SkillFile, skill_files
from goldsmith.courses.skills.installed_state import (
    CURRENT,
    EDITED,
    GRAVEST,
    MISSING,
    InstallState,
    difference,
    place_to_write,
    standing_of,
)
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.skills import SkillLeadsOut
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.signals import uninterrupted

WRITTEN, UPDATED, REPLACED, KEPT, UNCHANGED = "written", "updated", "replaced", "kept", "unchanged"
_GRAVEST = (KEPT, REPLACED, UPDATED, WRITTEN, UNCHANGED)
_COPY = ".yours"


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a skill. `found` is its state before, `version` the goldsmith that wrote that; `copy` is where the
    user's own file went, `difference` the diff from it to goldsmith's.
    """

    name: str
    """Its path in the course."""
    outcome: str
    """What became of it."""
    found: str
    """What was there before."""
    version: str = ""
    """The goldsmith that wrote that."""
    copy: str = ""
    """Where the user's own file went."""
    difference: tuple[str, ...] = ()
    """What keeps it from being goldsmith's, as a difference."""


class SkillResult(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, with the gravest of what became of its files. `behind`: some of it is not this goldsmith's newest."""

    name: str
    """The skill."""
    outcome: str
    """The gravest of what became of its files: `written`, `updated`, `replaced`, `kept` or `unchanged`; with
    `--check`, what was found."""
    behind: bool
    """Whether some of it is not this goldsmith's newest."""
    files: tuple[Installed, ...]
    """Each of its files."""


def check_skills(root: Path, only: Sequence[str] = ()) -> list[SkillResult]:
    """Report what is there now, without writing."""
    done = []
    for file in skill_files(only):
        standing = standing_of(root, file)
        done.append((file.skill, _result(file, standing.state, standing)))
    return _by_skill(done, GRAVEST)


def install_skills(root: Path, only: Sequence[str] = (), *, force: bool = False) -> list[SkillResult]:
    """Write files that are missing or outdated; keep edited ones, or with `force` move them to a copy next to it."""
    files = [(file, standing_of(root, file)) for file in skill_files(only)]
    for file, standing in files:
        if _is_to_be_written(standing, force) and place_to_write(root, file) is None:
            raise SkillLeadsOut(root / file.place)
    with uninterrupted():
        done = [(file.skill, _install(root, file, standing, force)) for file, standing in files]
    return _by_skill(done, _GRAVEST)


def _is_to_be_written(standing: InstallState, force: bool) -> bool:
    return standing.state != CURRENT and (force or not standing.is_somebodys)


def _install(root: Path, file: SkillFile, standing: InstallState, force: bool) -> Installed:
    if not _is_to_be_written(standing, force):
        return _result(file, KEPT if standing.is_somebodys else UNCHANGED, standing)
    path = place_to_write(root, file)
    assert path is not None, "looked at before anything was written"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = _keep_copy(path) if standing.is_somebodys else None
        write_durably(path, _content(file, standing), path.stat().st_mode & 0o7777 if path.exists() else None)
    except OSError as error:
        raise CannotWrite(root / file.place, error.strerror or str(error)) from None
    outcome = WRITTEN if standing.state == MISSING else REPLACED if standing.is_somebodys else UPDATED
    shown = file.place.with_name(copy.name).as_posix() if copy else ""
    return Installed(name=str(file.place), outcome=outcome, found=standing.state, version=standing.version, copy=shown)


def _content(file: SkillFile, standing: InstallState) -> bytes:
    """Return the file's bytes, with the line ends that it had."""
    text = file.text.replace("\n", "\r\n") if "\r\n" in standing.content else file.text
    return text.encode("utf-8")


def _keep_copy(path: Path) -> Path:
    """Copy the file to a name next to it that is free, or has the same bytes already."""
    content = path.read_bytes()
    number = 1
    while True:
        copy = path.with_name(f"{path.name}{_COPY}{'' if number == 1 else f'-{number}'}")
        if not os.path.lexists(copy):
            write_durably(copy, content, path.stat().st_mode & 0o7777)
            return copy
        if copy.is_file() and copy.read_bytes() == content:
            return copy
        number += 1


def _result(file: SkillFile, outcome: str, standing: InstallState) -> Installed:
    lines = difference(file, standing) if standing.is_somebodys else []
    return Installed(
        name=str(file.place),
        outcome=outcome,
        found=standing.state,
        version=standing.version,
        difference=tuple(line.encode("utf-8", "replace").decode() for line in lines),
    )


def _by_skill(done: Iterable[tuple[str, Installed]], order: Sequence[str]) -> list[SkillResult]:
    found: dict[str, list[Installed]] = {}
    for skill, item in done:
        found.setdefault(skill, []).append(item)
    return [
        SkillResult(
            name=skill,
            outcome=min((item.outcome for item in items), key=order.index),
            behind=any(_is_behind(item) for item in items),
            files=tuple(items),
        )
        for skill, items in found.items()
    ]


def _is_behind(item: Installed) -> bool:
    """Say whether a file is not the newest; the newest with a user's edits counts as up to date."""
    return item.outcome not in (WRITTEN, UPDATED, REPLACED) and item.found not in (CURRENT, EDITED)

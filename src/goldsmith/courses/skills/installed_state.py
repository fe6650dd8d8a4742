"""The state of a skill's file in a repository: missing, current, outdated, edited by a user, or not goldsmith's."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from goldsmith.courses.skills.bundled import SkillFile
from goldsmith.courses.skills.signature import read_mark
from goldsmith.errors.skills import SkillUnreadable

MISSING, CURRENT, OUTDATED = "missing", "current", "outdated"
EDITED, EDITED_OUTDATED, FOREIGN = "edited", "edited-outdated", "foreign"
GRAVEST = (FOREIGN, EDITED_OUTDATED, OUTDATED, MISSING, EDITED, CURRENT)
"""From the state that most needs attention to the one that needs none."""


@dataclass(frozen=True)
class InstallState:
    """The state of one file.

    `edited` is goldsmith's newest with a user's changes, `edited-outdated` an older one with changes, `foreign` a file
    that goldsmith never wrote. `version` is the goldsmith that wrote it; `content` is its text.
    """

    state: str
    version: str = ""
    content: str = ""

    @property
    def is_somebodys(self) -> bool:
        return self.state in (EDITED, EDITED_OUTDATED, FOREIGN)


def standing_of(root: Path, file: SkillFile) -> InstallState:
    path = root / file.place
    try:
        content = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return InstallState(MISSING)
    except OSError as error:
        raise SkillUnreadable(path, error.strerror or str(error)) from None
    mark, ours = read_mark(content), read_mark(file.text)
    assert ours is not None, "what goldsmith writes has its mark"
    if mark is None:
        return InstallState(FOREIGN, content=content)
    same = mark.digest == ours.digest
    if mark.intact:
        return InstallState(CURRENT if same else OUTDATED, mark.version, content)
    return InstallState(EDITED if same else EDITED_OUTDATED, mark.version, content)


def difference(file: SkillFile, standing: InstallState) -> list[str]:
    """Return the diff from what is there to what goldsmith would write."""
    one, two = standing.content.splitlines(), file.text.splitlines()
    name = str(file.place)
    return list(difflib.unified_diff(one, two, f"{name} as it is", f"{name} of goldsmith", n=1, lineterm=""))


def place_to_write(root: Path, file: SkillFile) -> Path | None:
    """Return where the file really is, links followed; None where that is outside the course."""
    try:
        base, real = root.resolve(), (root / file.place).resolve()
    except (OSError, RuntimeError):
        return None
    return real if real.is_relative_to(base) else None

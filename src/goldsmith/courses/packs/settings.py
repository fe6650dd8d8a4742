"""What a pack says about itself, read by what grades in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.courses.grade.rubric import Rubric
from goldsmith.errors.packs import NotAPack

Place = Literal["gradescope", "autolab", "classroom50"]
SETTINGS = "pack.json"


class PackSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How submissions are graded. `memory` is in GiB, `timeout` in seconds of processor time for a case. A pack without
    gold has its `rubric` here, with what it cannot decide in `left_out`, and by what points are multiplied."""

    about: str
    schema: Literal[1] = 1
    place: Place
    assignment: str
    goldsmith: str
    memory: float
    timeout: float | None = None
    rubric: Rubric | None = None
    left_out: tuple[str, ...] = ()
    scale: int = 1


def read_settings(folder: Path, place: Place) -> PackSettings:
    """Read what the pack in a folder says about itself."""
    try:
        found = msgspec.json.decode((folder / SETTINGS).read_bytes(), type=PackSettings)
    except (OSError, msgspec.DecodeError) as error:
        raise NotAPack(folder, place, str(error)) from None
    if found.place != place:
        raise NotAPack(folder, place, f"it is for {found.place}")
    return found

"""What each sandbox level guarantees, in one sentence. SECURITY.md and docs/sandbox.md say the same at length."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

LevelName = Literal["full", "basic", "none"]

_BUBBLEWRAP = "bubblewrap"
_MEANINGS: dict[LevelName, str] = {
    "full": "a submission can neither read nor see the course, gold, solutions, other submissions or your home, and "
    "has no network",
    "basic": "a submission cannot read the course, gold, solutions, other submissions or your home, and has no "
    "network; of a file whose path it knows, it can tell that it exists and how large it is",
    "none": "nothing keeps a submission from reading and changing what you can, or from the network",
}


class SandboxLevel(msgspec.Struct, frozen=True):
    """How well submissions are sandboxed."""

    level: LevelName
    """`full` with bubblewrap around it, `basic` with Landlock and seccomp alone, `none` without them."""
    meaning: str
    """What that means, in one sentence."""

    @property
    def sentence(self) -> str:
        return f"Sandbox level {self.level}: {self.meaning}."


def sandbox_level(layers: Collection[str], *, unsandboxed: str = "none") -> SandboxLevel:
    """Return the weakest level among submissions, from the names of their layers; `unsandboxed` stands for none."""
    if not layers or unsandboxed in layers:
        level: LevelName = "none"
    else:
        level = "full" if all(name.endswith(_BUBBLEWRAP) for name in layers) else "basic"
    return SandboxLevel(level, _MEANINGS[level])

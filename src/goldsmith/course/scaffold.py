"""What `init` puts into a course that is there already: a door for old habits, and a hook that stops leaks.

Nothing is overwritten: a file that is there and different is somebody's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from goldsmith.course.example import example_folder
from goldsmith.course.history import git
from goldsmith.course.layout import Course
from goldsmith.errors import CannotWrite

_HOOK = """\
#!/bin/sh
# Written by `goldsmith init`: refuses commits while a solution is in place, or that would show one to students.
exec "{python}" -m goldsmith guard --staged --course "{course}"
"""


@dataclass(frozen=True)
class Addition:
    """One file that `init` would write; `standing` says what is there: nothing, the same, or something else."""

    path: Path
    content: str
    mode: int
    why: str

    @property
    def standing(self) -> str:
        if not self.path.exists():
            return "missing"
        return "same" if self.path.read_text(errors="replace") == self.content else "other"

    def write(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.content, encoding="utf-8")
            self.path.chmod(self.mode)
        except OSError as error:
            raise CannotWrite(self.path, error.strerror or str(error)) from None


def additions(course: Course) -> list[Addition]:
    """All that `init` can add here; the hook only where there is a git repository."""
    door = (example_folder() / "scripts" / "dev_utils.py").read_text(encoding="utf-8")
    found = [
        Addition(
            course.root / "scripts" / "dev_utils.py",
            door,
            0o644,
            "--inject, --reset, --list and --verify-clean",
        )
    ]
    hooks = git(course, "rev-parse", "--git-path", "hooks")
    if hooks is not None:
        hook = _HOOK.format(python=sys.executable, course=course.root)
        path = course.root / hooks.strip() / "pre-commit"
        found.append(Addition(path, hook, 0o755, "no commit while a solution is in place, or that shows one"))
    return found

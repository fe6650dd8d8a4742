"""The course's git repository, asked politely: no git, no repository or no such thing is no answer."""

from __future__ import annotations

import subprocess

from goldsmith.course.layout import Course


def git(course: Course, *arguments: str) -> str | None:
    """What git prints, or None when it cannot say."""
    try:
        run = subprocess.run(
            ["git", "-C", str(course.root), *arguments],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout

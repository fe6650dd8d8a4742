"""The course's git repository, asked politely: no git, no repository or no such thing is no answer."""

from __future__ import annotations

import subprocess

from goldsmith.course.layout import Course


def git(course: Course, *arguments: str) -> str | None:
    """What git prints, or None when it cannot say."""
    printed = git_bytes(course, *arguments)
    return None if printed is None else printed.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def git_bytes(course: Course, *arguments: str) -> bytes | None:
    """The same, to the byte."""
    try:
        run = subprocess.run(["git", "-C", str(course.root), *arguments], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout

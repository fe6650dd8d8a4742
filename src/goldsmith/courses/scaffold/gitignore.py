"""Additions to `.gitignore`: ignore everything that goldsmith keeps locally, and never the gold."""

from __future__ import annotations

from pathlib import Path

from goldsmith.courses.layout.layout import Course
from goldsmith.courses.scaffold.changes import Change, extended
from goldsmith.foundation.git import git_succeeds

PART = "gitignore"
_HEADING = "# what goldsmith keeps on this machine alone"
_GOLD = ("gold_output.pt", "gold_output.npz", "gold_output.trace.safetensors", "manifest.json")


def ignored_change(course: Course) -> Change:
    """Plan lines for what is not ignored yet, and one that keeps the gold where a pattern would hide it."""
    path = course.root / ".gitignore"
    old = path.read_bytes() if path.is_file() else b""
    newline = "\r\n" if b"\r\n" in old else "\n"
    text = old.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    local = [_line(course, folder) for folder in (course.state_folder, course.reports_folder, course.grades_folder)]
    if not old:
        local = ["__pycache__/", ".pytest_cache/", ".venv/", *local]
    lines = [line for line in local if not _has(text, line) and not _ignores(course, f"{line.strip('/')}/x")]
    gold = f"!/{course.config.fixtures}/**"
    hidden = [name for name in _GOLD if _ignores(course, f"{course.config.fixtures}/a/{name}")]
    if hidden and not _has(text, gold):
        lines += ["# gold is reference data: it belongs in git", gold]
    if not lines:
        return Change(PART, path, "unchanged")
    if not _plain(old, newline):
        return extended(course.root, PART, path, None, "\n".join(lines))
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    new = f"{text}{gap}{_HEADING}\n" + "\n".join(lines) + "\n"
    return extended(course.root, PART, path, new, "\n".join(lines), newline=newline)


def hidden_gold(course: Course) -> str:
    """Return the gold's folder where git ignores all of it, which no later line can undo; else ""."""
    return course.config.fixtures if _ignores(course, f"{course.config.fixtures}/") else ""


def _line(course: Course, folder: Path) -> str:
    return f"{course.relative(folder).as_posix()}/"


def _plain(old: bytes, newline: str) -> bool:
    """Say whether the file can be split into lines and joined again without changing a byte."""
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return text.replace("\r\n", "\n").replace("\n", newline) == text


def _has(text: str, line: str) -> bool:
    return line.strip("/") in {item.strip().strip("/") for item in text.splitlines()}


def _ignores(course: Course, path: str) -> bool:
    """Say whether git ignores `path`, existing or not; False without git."""
    return git_succeeds(course.root, "check-ignore", "--quiet", "--no-index", "--", path)

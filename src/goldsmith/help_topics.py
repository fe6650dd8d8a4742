"""Pages about goldsmith that come with the package."""

from __future__ import annotations

from pathlib import Path

TOPICS = {
    "adapters": "submissions that are built differently",
    "checking": "what `goldsmith check` does, and how to read its answer",
    "course-staff": "goldsmith for course staff, from the first gold to a term's end",
    "grading": "a class at once: rubrics, feedback, what is kept",
    "other-layouts": "other folders, or a repository that is one assignment",
    "porting": "two models side by side: does the new one compute the same?",
    "recipes": "what a recipe can say",
    "rigor": "does the gold catch real mistakes?",
    "skills": "the skills for coding agents",
    "testing": "internal tests, the pytest plugin",
    "tolerances": "where tolerances come from",
    "tutorial": "from nothing to grades",
}
"""Names of pages, and what they are about."""


def topic_text(name: str) -> str:
    """Read a page, in Markdown: from the installed package, or from the repository of a working copy."""
    package = Path(__file__).resolve().parent
    installed = package / "_topics"
    folder = installed if installed.is_dir() else package.parent.parent / "docs"
    return (folder / f"{name}.md").read_text(encoding="utf-8")

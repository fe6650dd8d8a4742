"""The files that goldsmith would write into a course: each skill, and a slash command that leads to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from goldsmith.courses.skills.signature import marked
from goldsmith.errors.skills import NoSuchSkill

_TEXTS = Path(__file__).parent / "texts"
_SKILL = "SKILL.md"
_SHORTCUT = """\
---
description: {description}
argument-hint: "{hint}"
---

Read `{skill}` and follow it from its first line to its last. What was written after the command: $ARGUMENTS
"""
_HINTS = {"grade": "[assignment] [submissions]", "port": "[reference] [candidate]"}
_ANY_HINT = "[assignment]"


@dataclass(frozen=True)
class SkillFile:
    """One file of a skill, by its path in the course; `text` ends with the mark by which goldsmith recognises it."""

    skill: str
    place: PurePosixPath
    text: str


ANYWHERE = ("port",)
"""Skills that need no course. They are installed by name only, in any repository."""


def skill_names() -> list[str]:
    """Return the skills of a course in the order in which people need them: make gold, sharpen it, judge by it."""
    order = ["generate-fixtures", "test-rigor", "grade"]
    found = {folder.name for folder in _TEXTS.iterdir() if (folder / _SKILL).is_file()} - set(ANYWHERE)
    return [*(name for name in order if name in found), *sorted(found - set(order))]


def skill_files(only: Sequence[str] = ()) -> list[SkillFile]:
    """Return all files that a course gets, skill by skill, or those of the skills in `only`."""
    known = [*skill_names(), *ANYWHERE]
    for name in only:
        if name not in known:
            raise NoSuchSkill(name, known)
    files = []
    for name in (item for item in known if item in (only or skill_names())):
        body = (_TEXTS / name / _SKILL).read_text(encoding="utf-8")
        skill = PurePosixPath(".claude/skills", name, _SKILL)
        shortcut = _SHORTCUT.format(description=_description(body), hint=_HINTS.get(name, _ANY_HINT), skill=skill)
        files.append(SkillFile(name, skill, marked(body)))
        files.append(SkillFile(name, PurePosixPath(".claude/commands", f"{name}.md"), marked(shortcut)))
    return files


def _description(body: str) -> str:
    """Return the description as the front matter spells it, quotes included."""
    found = re.search(r"^description: (.*)$", body, re.M)
    assert found is not None, "a skill says what it is for"
    return found[1]

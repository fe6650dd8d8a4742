"""The text of a new `goldsmith.toml`: where things are, how that was found, and what else can be set."""

from __future__ import annotations

import json

from goldsmith.courses.scaffold.layout_detection import Layout

_MEANINGS = {
    "assignments": "starter code that students get, a folder for each assignment; `.` is the root",
    "solutions": "<assignment>/<name>_solution.py takes the place of <name>.py; not for students",
    "internal-tests": "tests that students do not see, marked `rigor`",
    "fixtures": "the gold, a folder for each assignment; commit it",
    "recipe": "in the assignment's folder, or next to its solution",
}
_HEAD = """\
# The settings of this course for goldsmith. Every one has a default; delete a line to use its default.
"""
_SEED = """\
seed = 42
"""
_WHOLE = """\

[assignment.{name}]
folder = "."  # the whole repository is one assignment
"""
_BESIDE = """\

[assignment.{name}]  # {evidence}
folder = {starter}
solution = {solution}  # not for students
"""
_TAIL = """\

# This repository is for staff: solutions and gold belong in it, and students must never get all of it. Before you
# hand anything out, run `goldsmith guard FOLDER` or `goldsmith guard --ref BRANCH` on it.
#
# [guard]
# private = []                      # more folders that are not for students
#
# [guard.allow]
# "docs/hints.md" = "shown in the lecture"   # what is meant to be seen, with its reason
#
# [assignment.hw1]
# title = "Homework 1"
# description = "what the menu says about it"
"""


def settings_text(layout: Layout) -> str:
    rows = []
    for key, meaning in _MEANINGS.items():
        found = "" if layout.beside and key in ("assignments", "solutions") else layout.found.get(key, "")
        origin = f" (found: {found})" if found else ""
        rows.append((f"{key} = {_quoted(layout.values[key])}", meaning + origin))
    width = max(len(setting) for setting, _ in rows)
    whole = _WHOLE.format(name=_quoted(layout.whole)) if layout.whole else ""
    beside = "".join(
        _BESIDE.format(
            name=_quoted(item.name),
            starter=_quoted(item.starter),
            solution=_quoted(item.solution),
            evidence=item.evidence,
        )
        for item in layout.beside
    )
    rows_text = "".join(f"{setting.ljust(width)}  # {comment}\n" for setting, comment in rows)
    return _HEAD + rows_text + _SEED + whole + beside + _TAIL


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

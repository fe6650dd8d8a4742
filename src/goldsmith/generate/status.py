"""The state of every assignment's gold, from hashes alone."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from goldsmith.course.layout import Assignment, Course
from goldsmith.generate.freshness import Freshness, survey

Standing = Literal["fresh", "stale", "missing", "injected"]


class AssignmentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the gold of one assignment stands."""

    name: str
    """The assignment."""
    outcome: Standing
    """How its gold stands."""
    reasons: tuple[str, ...]
    """Why it is not fresh."""
    notes: tuple[str, ...]
    """Facts that make no gold stale, such as another version of torch."""
    label: str
    """What it is called in menus."""
    description: str
    """One line about it."""
    recipe: str | None
    """Where its recipe lies; null where there is none."""
    folder: str | None
    """Where its gold lies; null where it is no longer an assignment."""


def course_status(course: Course) -> list[AssignmentStatus]:
    """Return the state of every assignment, and of solutions injected for an assignment that no longer exists."""
    known = {item.name: item for item in course.assignments()}
    return [_status(name, state, known.get(name)) for name, state in survey(course).items()]


def _status(name: str, state: Freshness, assignment: Assignment | None) -> AssignmentStatus:
    label, description, recipe, folder = name, "", None, None
    if assignment is not None:
        course = assignment.course
        label, description = assignment.label, assignment.description
        recipe = course.relative(assignment.recipe).as_posix() if assignment.recipe.is_file() else None
        folder = course.relative(assignment.gold).as_posix()
    return AssignmentStatus(
        name=name,
        outcome=cast(Standing, state.outcome),
        reasons=state.reasons,
        notes=state.notes,
        label=label,
        description=description,
        recipe=recipe,
        folder=folder,
    )

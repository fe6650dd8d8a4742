"""The state of every assignment's gold, from hashes alone."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.generate.freshness import Freshness, freshness, survey
from goldsmith.targets.target import Subject

Standing = Literal["fresh", "stale", "missing", "injected"]


class AssignmentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the gold of one assignment, or of one recipe by itself, stands."""

    name: str
    """The assignment, or the path of the recipe as it was given."""
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


def subject_status(subject: Subject) -> AssignmentStatus:
    """Return the state of one assignment, or of one recipe by itself."""
    return _status(subject.name, freshness(subject), subject)


def _status(name: str, state: Freshness, subject: Subject | None) -> AssignmentStatus:
    label, description, recipe, folder = name, "", None, None
    if subject is not None:
        label, folder = subject.label, subject.gold_place
        recipe = subject.project.relative(subject.recipe).as_posix() if subject.recipe.is_file() else None
    if isinstance(subject, Assignment):
        description = subject.description
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

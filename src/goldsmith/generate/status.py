"""The state of every assignment's gold, from hashes alone."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from goldsmith.generate.freshness import freshness
from goldsmith.targets.target import Target

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


def target_status(target: Target) -> AssignmentStatus:
    """Return the state of one assignment, or of one recipe by itself."""
    state, recipe = freshness(target), target.recipe
    return AssignmentStatus(
        name=target.name,
        outcome=cast(Standing, state.outcome),
        reasons=state.reasons,
        notes=state.notes,
        label=target.label,
        description=target.description,
        recipe=target.project.relative(recipe).as_posix() if recipe.is_file() else None,
        folder=target.gold_place,
    )

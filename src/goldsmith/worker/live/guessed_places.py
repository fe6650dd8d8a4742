"""Places for weights that the parent guesses and has tried: rules for one load, and what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from goldsmith.process.sides import LoadAsk
from goldsmith.weights.rules import Adapter, Matrix, Rule

_LISTED = 4


def with_guesses(adapter: Adapter, ask: LoadAsk) -> Adapter:
    """Return an adapter with the guesses as rules."""
    guessed = [Rule((Matrix(mine),), (Matrix(theirs),), turned) for mine, theirs, turned in ask.guessed]
    return dataclasses.replace(adapter, rules=[*guessed, *adapter.rules])


def load_notes(notes: Sequence[str], ask: LoadAsk) -> tuple[str, ...]:
    """Say what was assumed; a guess is no rule of an adapter."""
    if not ask.keep:
        return ()
    found = [note.replace("gold", "the reference") for note in notes]
    if not ask.guessed:
        return tuple(found)
    listed = ", ".join(f"{theirs} for {mine}" for mine, theirs, _ in ask.guessed[:_LISTED])
    more = f" and {len(ask.guessed) - _LISTED} more" if len(ask.guessed) > _LISTED else ""
    own = [note for note in found if not note.startswith("weights placed by the adapter")]
    return (*own, f"weights placed by a guess, and the two agree so: {listed}{more}")

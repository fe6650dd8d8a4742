"""What is said of weights that were placed by a guess, or have no place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from goldsmith.foundation.wording import some_of
from goldsmith.model_parity.result import PROVEN, CarriedWeights
from goldsmith.weights.placement import size_words

_LISTED = 4


def guess_notes(carried: CarriedWeights, reasons: Iterable[str] = ()) -> list[str]:
    """Say by which guess weights were placed, how sure it is, what else it could be, and what has no place."""
    found = []
    guess = carried.guess
    if guess is not None:
        pairs = f": {some_of(guess.pairs, _LISTED)}" if guess.pairs else ""
        by = f"by {_and(guess.by)}"
        if guess.sure == PROVEN:
            found.append(f"weights were placed by a guess, which the outputs confirm: {some_of(guess.pairs, _LISTED)}")
        else:
            agree = f", {guess.right} of {guess.of} modules agree by it" if guess.of else ""
            found.append(f"weights were placed by a guess, {by}{pairs}. It is {guess.sure}, not proven{agree}")
        if guess.others:
            found.append(f"the guess could also be {'; or '.join(guess.others)}")
    if carried.unplaced:
        told = "".join(f" ({reason})" for reason in reasons)
        left = f"; left over in the candidate: {listed_sizes(carried.free)}" if carried.free else ""
        found.append(f"the candidate has no place for the reference's {listed_sizes(carried.unplaced)}{told}{left}")
    return found


def agrees_without(carried: CarriedWeights) -> str:
    """Say why two models that agree do not pass: some of the weights were left out."""
    return (
        "what was compared agrees, but the candidate has no place for the reference's "
        f"{listed_sizes(carried.unplaced)}; if that is right, say so in an adapter, with no_counterpart"
    )


def listed_sizes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return some_of((f"{name} ({size_words(shape)})" for name, shape in shapes.items()), 6)


def _and(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last

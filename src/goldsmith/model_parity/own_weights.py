"""Which weights of two models correspond where each keeps its own: those that hold the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.foundation.wording import some_of
from goldsmith.model_parity.both_sides import BothSides
from goldsmith.runs.implementation import Loaded, LoadRequest
from goldsmith.weights.guesses import guess_places
from goldsmith.weights.units import names_to_place

_LISTED = 4
Shape = tuple[int, ...]


@dataclass(frozen=True)
class OwnWeights:
    """Weights that correspond, by the arrangement in which the candidate holds most of the reference's numbers;
    `missing` are the reference's that correspond to none, with shapes."""

    loaded: Loaded
    missing: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def held(self) -> list[str]:
        """Return the reference's weights whose numbers the candidate holds."""
        return [name for mine, _ in self.loaded.placed for name in mine if name not in self.loaded.other]

    @property
    def notes(self) -> list[str]:
        """Say what is not the same, where most is."""
        if not self.held:
            return ["the candidate holds none of the reference's weights: both were left with their own"]
        found = []
        other, missing = some_of(self.loaded.other, _LISTED), some_of(self.missing, _LISTED)
        if other:
            found.append(f"the candidate holds other numbers than the reference's {other}")
        if missing:
            found.append(f"nothing in the candidate holds the numbers of the reference's {missing}")
        if found:
            found.append("gradients of these are not compared")
        return found


def pair_own_weights(
    both: BothSides, weights: Any, first: Loaded, call_orders: Callable[[], tuple[Sequence[str], Sequence[str]]]
) -> OwnWeights:
    """Try the arrangements that are tried for weights that are carried over, without carrying any."""
    mine, theirs = both.described
    wanted = names_to_place(mine)
    best, best_request, rank = None, None, (-1, -1)

    def requests() -> Iterator[LoadRequest]:
        plain = LoadRequest(facts=mine.facts, keep=False)
        yield plain
        for layout in first.layouts:
            yield msgspec.structs.replace(plain, layout=layout)
        for guess in guess_places(mine, theirs, call_orders()):
            yield msgspec.structs.replace(plain, guessed=guess.rules, missing=guess.missing)

    for request in requests():
        loaded, request = load_what_fits(both, weights, request)
        found = OwnWeights(loaded, _missing(loaded, wanted, mine.weights))
        if (len(found.held), -len(found.missing)) > rank:
            best, best_request, rank = found, request, (len(found.held), -len(found.missing))
        if not loaded.other and not loaded.unplaced and not found.missing:
            break
    assert best is not None
    assert best_request is not None
    return OwnWeights(both.candidate.load(weights, best_request), best.missing)


def load_what_fits(both: BothSides, weights: Any, request: LoadRequest) -> tuple[Loaded, LoadRequest]:
    """Have weights loaded; where some do not fit, the others. Return the request by which that was done, too."""
    loaded = both.candidate.load(weights, request)
    if not loaded.unplaced:
        return loaded, request
    request = msgspec.structs.replace(request, missing=(*request.missing, *loaded.unplaced))
    reasons = loaded.reasons
    return msgspec.structs.replace(both.candidate.load(weights, request), reasons=reasons), request


def _missing(
    loaded: Loaded, wanted: Sequence[str], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    placed = {name for mine, _ in loaded.placed for name in mine} | set(loaded.excused)
    return {name: shapes[name] for name in wanted if name not in placed}

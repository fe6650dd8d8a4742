"""Cases whose gold could not store a model's weights. Submissions run with their own weights there, so numbers that
differ say nothing against them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, OWN_WEIGHTS, CaseVerdict

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase

CAVEAT = "its own weights were used; only their statistics could be compared"


def with_caveat(
    verdict: CaseVerdict, gold: GoldCase, expected: Mapping[str, Any], recorded: Mapping[str, Any]
) -> CaseVerdict:
    """Add the caveat to a verdict where gold lacks some weights, and leave cases unjudged that differ in numbers alone.

    A different shape, dtype or number of results still counts: weights do not change those.
    """
    if not any(facts.unstored for facts in gold.entry.weights.values()):
        return verdict
    if verdict.outcome == AGREES:
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, CAVEAT))
    wrong = [leaf for leaf in verdict.natural if not leaf.agrees]
    if verdict.outcome != DIFFERS or verdict.kind != "values" or any(leaf.problem != "values" for leaf in wrong):
        return verdict
    statistics = _statistics(expected, recorded, [leaf.path for leaf in wrong])
    return msgspec.structs.replace(
        verdict, outcome=COULD_NOT_RUN, kind=OWN_WEIGHTS, reason=f"{CAVEAT}{statistics}", notes=verdict.notes
    )


def _statistics(gold: Mapping[str, Any], recorded: Mapping[str, Any], paths: list[str]) -> str:
    """Describe mean and spread of the first record that differs, next to gold's."""
    for path in paths:
        if is_array(gold.get(path)) and is_array(recorded.get(path)):
            mine, theirs = numbers_of(gold[path]), numbers_of(recorded[path])
            means, spreads = (
                f"{theirs.mean():.3g}, gold's {mine.mean():.3g}",
                f"{theirs.std():.3g}, gold's {mine.std():.3g}",
            )
            return f" (mean {means}; spread {spreads})"
    return ""

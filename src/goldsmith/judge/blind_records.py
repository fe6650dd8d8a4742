"""Records that agree only because rounding moves gold itself as far: they say nothing about the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from goldsmith.comparison.results import LeafComparison
from goldsmith.gold.calibration import ALLOWED_NOISE
from goldsmith.gold.facts import is_allowed
from goldsmith.gold.tolerances import BLIND, Tolerance, blind_paths
from goldsmith.judge.criteria import Criteria
from goldsmith.judge.decision import sharper, shown_path
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, INCONCLUSIVE, CaseVerdict


def undecided(tolerances: Mapping[str, Tolerance], leaves: Sequence[LeafComparison]) -> list[str]:
    """List what agrees only because its tolerance is as large as itself. What is the same to the last bit says
    something, whatever its tolerance."""
    counts = {leaf.path: leaf.elements for leaf in leaves if not leaf.identical}
    return [path for path in blind_paths(tolerances, counts) if path in counts]


def without_blind_records(verdict: CaseVerdict, criteria: Criteria) -> CaseVerdict:
    """Return a verdict that does not rest on such records, but for those that the recipe allows to be noise. Where
    nothing else was recorded, nothing can be said."""
    if verdict.outcome != AGREES:
        return verdict
    met = criteria.variants.get(verdict.met, criteria)
    in_float64 = {leaf.path for leaf in verdict.leaves} if verdict.judged_in == "float64" else set()
    tolerances = {path: sharper(item) if path in in_float64 else item for path, item in met.tolerances.items()}
    allowed = met.gold.entry.allowed
    blind = [path for path in undecided(tolerances, verdict.natural) if not is_allowed(allowed, path, ALLOWED_NOISE)]
    if not blind:
        return verdict
    name, because = shown_path(blind[0]), f"rounding alone moves it by more than {BLIND:.0%} of its size"
    if len(blind) < len(verdict.natural):
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, f"{name} was not judged: {because}"))
    reason = f"inconclusive: {name} is all that was recorded, and {because}"
    return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, kind=INCONCLUSIVE, reason=reason)

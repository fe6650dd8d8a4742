"""Find out in which floating dtypes a submission computed, and whether one is coarser than all of gold's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from goldsmith.comparison.results import LeafComparison
from goldsmith.judge.policy import EXAMINED, ROUNDED, ROUNDED_UNITS
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict
from goldsmith.runs.conditions import OWN

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.runs.run import CaseRuns
    from goldsmith.runs.setting import Setting

_EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "tf32": 2.0**-10, "complex32": 2.0**-10}
_EPS |= {"float32": 2.0**-23, "complex64": 2.0**-23}
_FINEST = 2.0**-52
_COARSEST = 0.25
"""The eps of an 8-bit float."""


def is_excused(verdict: CaseVerdict) -> bool:
    """Return whether a case agrees only because it is right in float64: in its own dtype it is out of tolerance."""
    return verdict.outcome == AGREES and not all(leaf.agrees for leaf in verdict.natural)


def needs_dtypes(verdict: CaseVerdict, gold: GoldCase, replayed: CaseRuns) -> bool:
    """Return whether a verdict depends on the dtypes that were computed in, or may be explained by them. A run in
    float64 does not show them: autocast leaves float64 alone."""
    if "dtypes" in replayed.runs or gold.path.suffix != ".pt":
        return False
    if verdict.outcome == AGREES:
        return is_excused(verdict) or any(leaf.excess > EXAMINED for leaf in verdict.natural)
    differing = [leaf for leaf in verdict.natural if not leaf.agrees]
    return (
        verdict.outcome == DIFFERS
        and verdict.kind == "values"
        and bool(differing)
        and all(leaf.problem == "values" and leaf.relative <= ROUNDED for leaf in differing)
    )


def coarser_dtype(gold: GoldCase, replayed: CaseRuns, setting: Setting) -> str:
    """Return the coarsest dtype that was computed in, if it is coarser than gold's inputs, weights and records, and
    than what the setting asks for; else ""."""
    run = replayed.runs.get("dtypes")
    if run is None:
        return ""
    own = max((eps_of(item.dtype) for item in gold.entry.tensors if _is_inexact(item.dtype)), default=_COARSEST)
    own = own if setting.dtype == OWN else max(own, eps_of(setting.dtype))
    allowed = ("tf32",) if setting.tf32 else ()
    coarser = [name for name in run.facts.rounded_to if eps_of(name) > own and name not in allowed]
    return max(coarser, key=eps_of, default="")


def is_unseen(replayed: CaseRuns) -> bool:
    """Return whether the run that should show the dtypes failed."""
    return "dtypes" in replayed.runs and replayed.runs["dtypes"].failure is not None


def explains(dtype: str, natural: Sequence[LeafComparison]) -> bool:
    """Return whether rounding to a dtype can explain how far off the leaves are."""
    most = min(ROUNDED, ROUNDED_UNITS * eps_of(dtype))
    return all(leaf.agrees or (leaf.problem == "values" and leaf.relative <= most) for leaf in natural)


def _is_inexact(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex")) and "Python" not in dtype


def eps_of(dtype: str) -> float:
    if dtype in ("float64", "complex128"):
        return _FINEST
    return _EPS.get(dtype, _COARSEST)

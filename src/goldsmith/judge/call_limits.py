"""How far off a traced call may be: by its own measured noise, and by rounding where float64 has cleared it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from goldsmith.gold.arrays import array_hash
from goldsmith.gold.call_forms import function_key
from goldsmith.gold.tolerances import NOISY_SAFETY
from goldsmith.gold.trace_tensors import is_whole
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.policy import EXPLAINED, MAX_CALL_NOISE, MAX_CALL_ROUNDING
from goldsmith.judge.traces import Call
from goldsmith.judge.verdicts import AGREES, CaseVerdict

if TYPE_CHECKING:
    from goldsmith.gold.manifest import CaseEntry
    from goldsmith.judge.trace_pairs import TracePair


def measured_noise(calls: Sequence[Call], entry: CaseEntry) -> dict[int, float]:
    """Return by position how far rounding moves what a call returns, relative to its size, where that was measured: of
    its module or function, else of what it returned if the case has recorded that as well."""
    noises = {item.sha256: item.tolerance.noise for item in entry.tensors if item.tolerance}
    recorded = {content: noise.l2 for content, noise in noises.items() if noise}
    found = {}
    for call in calls:
        module = f"{call.model}.{call.module}" if call.module else call.model
        by_name = entry.call_noise.get(function_key(call.name))
        known = by_name if call.function else entry.call_noise.get(module, by_name)
        if known is None and recorded:
            outputs = [recorded.get(array_hash(item)) if is_whole(item) else None for item in call.outputs]
            known = max((item for item in outputs if item is not None), default=None) if None not in outputs else None
        if known is not None:
            found[call.position] = known
    return found


def noise_limits(calls: Sequence[Call], entry: CaseEntry) -> dict[int, float]:
    """Return by position how far a call may be off by its own noise, which few trials have measured."""
    return {at: min(NOISY_SAFETY * noise, MAX_CALL_NOISE) for at, noise in measured_noise(calls, entry).items()}


def allow_rounding(pair: TracePair, verdicts: Mapping[str, CaseVerdict], shown: PartCoverage) -> None:
    """Let calls in float32 be off by rounding, if their own cases agree in float64 and the case is off by so much that
    rounding cannot be why."""
    verdict = verdicts[pair.case]
    case_error = max((leaf.relative for leaf in verdict.natural if not leaf.agrees), default=0.0)
    limit = min(MAX_CALL_ROUNDING, case_error / EXPLAINED)
    strict = [call for call in pair.gold if limit > pair.limit(call) and _is_float32(call)]
    cleared = [call for call in strict if _is_cleared(call.name, verdicts, shown)]
    pair.noise = {**pair.noise, **{call.position: limit for call in cleared}}


def _is_float32(call: Call) -> bool:
    return any(is_whole(item) and item.dtype.name in ("float32", "complex64") for item in call.outputs)


def _is_cleared(name: str, verdicts: Mapping[str, CaseVerdict], shown: PartCoverage) -> bool:
    """Return whether all of the narrowest cases that run a function agree to the precision of float64."""
    own = [verdicts[case] for case in shown.narrowest(name) if case in verdicts]
    exact = (it.judged_in == "float64" or all(leaf.identical for leaf in it.natural) for it in own)
    return bool(own) and all(it.outcome == AGREES for it in own) and all(exact)

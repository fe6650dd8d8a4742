"""Say that a comparison is inconclusive where the reference's own noise is as large as what is compared."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from goldsmith.comparison.results import Comparison
from goldsmith.gold.tolerances import BLIND, SAFETY, first_jump
from goldsmith.judge.blind_records import undecided
from goldsmith.judge.decision import shown_path
from goldsmith.judge.policy import NEAR_BY_FEW_TRIALS
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, INCONCLUSIVE, CaseVerdict
from goldsmith.model_parity.both_sides import Runs
from goldsmith.model_parity.noise import Limits, Measured, calls_of
from goldsmith.runs.implementation import OUTPUT
from goldsmith.runs.run import Run


def or_inconclusive(
    verdict: CaseVerdict, runs: Runs, measured: Measured, natural: Comparison, wide: Comparison | None
) -> CaseVerdict:
    """Return a verdict as it is, unless it agrees only because a tolerance is as large as what it is for: then nothing
    can be said."""
    if verdict.outcome != AGREES:
        return verdict
    blind = _undecided(measured.own, natural) if wide is None else _undecided(measured.wide, wide)
    if not blind:
        return verdict
    jump = _first_jump_in(runs.wide[0] if runs.wide else runs.mine, measured.calls)
    begins = f"; that begins in {jump}: does a choice there depend on the last bit?" if jump else ""
    reason = (
        f"inconclusive: rounding alone moves {shown_path(blind[0])} of the reference by more than {BLIND:.0%} of "
        f"its size{begins}; give other inputs, or a tolerance of your own"
    )
    return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, kind=INCONCLUSIVE, reason=reason)


def is_near(verdict: CaseVerdict) -> bool:
    """Return whether more trials may decide: values differ, all of them by little more than few trials allow."""
    wrong = [leaf for leaf in verdict.leaves if not leaf.agrees]
    return verdict.outcome == DIFFERS and bool(wrong) and all(leaf.excess <= NEAR_BY_FEW_TRIALS for leaf in wrong)


def _undecided(limits: Limits, found: Comparison) -> list[str]:
    """List what agrees only because noise moves the reference itself as far, so that it says nothing: any output, or
    all of the gradients or weights that were compared."""
    blind = undecided(limits.tolerances, found.leaves)
    outputs = [path for path in blind if path.partition(".")[0] == OUTPUT]
    return outputs or (blind if len(blind) == len(found.leaves) else [])


def _first_jump_in(plain: Run, calls: Mapping[int, float]) -> str:
    """Name the first call, in the order in which they ended, whose output noise moves as far as that."""
    ended = sorted(calls_of(plain), key=lambda call: (call.end, -call.position))
    return first_jump({call.label: calls.get(call.position, 0.0) / SAFETY for call in ended})

"""Judge two models by what they returned: values, gradients, weights after optimiser steps. Nothing is run here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from goldsmith.comparison.api import compare
from goldsmith.comparison.results import Comparison
from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.judge.choices import Spared, changes, judge_and_spare, spare_followers
from goldsmith.judge.decision import (
    GIVE_TOLERANCE,
    cancellation,
    choice_notes,
    coarsest_dtype,
    decide,
    inconclusive,
    moved_by_rounding,
    shown_path,
    undecided,
    unjudged_reason,
)
from goldsmith.judge.policy import NEAR_BY_FEW_TRIALS
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, gravest
from goldsmith.runs.implementation import GRADIENTS, INPUT_GRADIENTS, OUTPUT

if TYPE_CHECKING:
    from goldsmith.gold.choices import Choice
    from goldsmith.judge.evidence import Evidence
    from goldsmith.model_parity.both_sides import ParityRequest, Runs
    from goldsmith.model_parity.noise import Limits, Measured
    from goldsmith.runs.implementation import Loaded
    from goldsmith.runs.run import Run

SCORED_SHAPE = "scored shape"
"""The name of the comparison of kernels on the very inputs that count: some are right on all others."""
ROUNDED = "rounded"
"""The kind of a difference that is nothing but weights that were rounded."""


@dataclass(frozen=True)
class ValueJudge:
    """Judges the values of both models. `paths` are the outputs that both have, `weights` those of the reference's that
    are the candidate's, too; `mixed` models are of different dtypes. What differs is kept as `evidence`, if that is
    wanted."""

    request: ParityRequest
    paths: Collection[str]
    weights: Collection[str]
    mixed: bool
    evidence: Evidence | None
    in_float64: dict[str, bool] = field(default_factory=dict)
    """By case, whether both agree in float64; what did not run there is left out."""

    def values(
        self, prefix: str, runs: Runs, measured: Measured, shared: Callable[[str], bool] | None
    ) -> list[CaseVerdict]:
        """Judge outputs, and gradients if it is known which inputs are `shared`."""
        name = SCORED_SHAPE if self.request.kernel and not prefix else "forward"
        forward = self._case(f"{prefix}{name}", runs, measured, lambda path: path in self.paths)
        forward = _with_overwriting(forward, runs)
        if shared is None:
            return [forward]
        back = self._gradients(f"{prefix}gradients", runs, measured, shared)
        return [forward, back] if back.leaves or back.outcome != AGREES else [forward]

    def steps(self, name: str, runs: Runs, measured: Measured) -> CaseVerdict:
        """Judge losses and weights after steps of an optimiser."""

        def wanted(path: str) -> bool:
            section, _, weight = path.partition(".")
            return section != "weights" or weight in self.weights

        return self._case(name, runs, measured, wanted)

    def again(self, name: str, runs: Runs, ran: Run, measured: Measured) -> CaseVerdict:
        """Judge another run of the candidate on the same inputs: its outputs are those that were judged already, or the
        reference's."""

        def wanted(path: str) -> bool:
            return path in self.paths

        found = self._compared(runs.theirs.values, ran.values, measured.own, wanted)
        if not found.agrees:
            found = self._compared(runs.mine.values, ran.values, measured.own, wanted)
        dtype = coarsest_dtype(found)
        verdict = CaseVerdict(
            name=name, title="", outcome=AGREES, natural=found.leaves, leaves=found.leaves, judged_in=dtype
        )
        return decide(verdict, found, None)

    def outputs_agree(self, one: Mapping[str, Any], two: Mapping[str, Any], measured: Measured) -> bool:
        return self._compared(one, two, measured.own, lambda path: path in self.paths).agrees

    def _gradients(self, name: str, runs: Runs, measured: Measured, shared: Callable[[str], bool]) -> CaseVerdict:
        cut_off = runs.theirs.facts.cut_off
        if cut_off:
            reason = f"the candidate has no gradients: {cut_off}"
            return CaseVerdict(name=name, title="", outcome=DIFFERS, kind="gradients", reason=reason)

        def wanted(path: str) -> bool:
            section, _, weight = path.partition(".")
            if section == INPUT_GRADIENTS:
                return shared(weight)
            return section == GRADIENTS and weight in self.weights

        return self._case(name, runs, measured, wanted)

    def _case(self, name: str, runs: Runs, measured: Measured, wanted: Callable[[str], bool]) -> CaseVerdict:
        """Compare the values whose path is `wanted`, and decide as for a case of gold's."""
        natural = self._compared(runs.mine.values, runs.theirs.values, measured.own, wanted)
        choices = () if self.request.tolerance_given else measured.own.choices
        sides = (runs.theirs.values, runs.mine.values, choices, measured.own.arrays, "")
        exact = self._in_float64(runs, measured, choices, wanted)
        wide = exact.comparison if exact is not None else None
        if exact is not None and not exact.left_out:
            self.in_float64[name] = exact.comparison.agrees
        spared = judge_and_spare(
            natural,
            sides,
            lambda found: self._compared(runs.mine.values, found, measured.own, wanted),
            whole=exact.seen if exact is not None else (),
            rowless=rowless(runs.mine.values),
        )
        natural, chosen = spared.comparison, spared.chosen
        verdict = CaseVerdict(
            name=name,
            title="",
            outcome=AGREES,
            natural=natural.leaves,
            leaves=natural.leaves,
            judged_in=coarsest_dtype(natural),
            own_dtype_only=bool(runs.why_not),
            chosen=chosen,
            notes=(*choice_notes(chosen, natural, choices, "the reference's"), *spared.notes),
        )
        verdict = decide(verdict, natural, wide)
        if not self.request.tolerance_given:
            verdict = _or_inconclusive(verdict, runs, measured, natural, wide)
        doubt = unjudged_reason(chosen) or spared.doubt(exact)
        verdict = inconclusive(verdict, doubt) if doubt and verdict.outcome == AGREES else verdict
        if self.evidence is not None:
            in_wide = wide is not None and verdict.leaves == wide.leaves
            mine, theirs = runs.wide if in_wide and runs.wide else (runs.mine, runs.theirs)
            tolerances = (measured.wide if in_wide else measured.own).tolerances
            self.evidence.add_tensors(verdict, mine.values, theirs.values, tolerances)
        return verdict

    def _in_float64(
        self, runs: Runs, measured: Measured, choices: Sequence[Choice], wanted: Callable[[str], bool]
    ) -> Spared | None:
        """Compare in float64, where both ran so."""
        if runs.wide is None or self.request.tolerance_given:
            return None
        mine, theirs = (
            {path: numbers_of(value) for path, value in ran.values.items() if is_inexact(value)} for ran in runs.wide
        )

        def compared(found: Mapping[str, Any]) -> Comparison:
            return self._compared(mine, found, measured.wide, wanted)

        found = compared(theirs)
        if not found.leaves:
            return None
        own, other = (ran.values for ran in runs.wide)
        changed = () if found.agrees else changes(other, own, choices, measured.own.arrays, exact=own)
        return spare_followers(Spared(found), changed, theirs, mine, compared, rowless=rowless(mine))

    def _compared(
        self, mine: Mapping[str, Any], theirs: Mapping[str, Any], limits: Limits, wanted: Callable[[str], bool]
    ) -> Comparison:
        gold = {path: value for path, value in mine.items() if wanted(path)}
        actual = {path: value for path, value in theirs.items() if path in gold}
        return compare(
            actual,
            gold,
            rtol=self.request.rtol,
            atol=self.request.atol,
            tolerances={path: item for path, item in limits.tolerances.items() if path in gold},
            noisy={path: item for path, item in limits.noisy.items() if path in gold},
            equal_nan=[path for path, value in gold.items() if not is_all_nan(value)],
            check_dtype=not self.mixed,
        )


def _with_overwriting(verdict: CaseVerdict, runs: Runs) -> CaseVerdict:
    """Judge a candidate that changes its inputs where the reference does not."""
    more = [name for name in runs.theirs.facts.overwrote if name not in runs.mine.facts.overwrote]
    if not more or verdict.outcome != AGREES:
        return verdict
    reason = f"the candidate changes its input {', '.join(more)} in place, and the reference does not"
    return msgspec.structs.replace(verdict, outcome=DIFFERS, kind="overwrites", reason=reason)


def _or_inconclusive(
    verdict: CaseVerdict, runs: Runs, measured: Measured, natural: Comparison, wide: Comparison | None
) -> CaseVerdict:
    """Return a verdict as it is, unless it agrees only because a tolerance is as large as what it is for: then nothing
    can be said. That is so of any output, or of all gradients or weights that were compared: a few of those may be zero
    but for rounding."""
    if verdict.outcome != AGREES:
        return verdict
    limits, found = (measured.own, natural) if wide is None else (measured.wide, wide)
    blind = undecided(limits.tolerances, found.leaves)
    outputs = [path for path in blind if path.partition(".")[0] == OUTPUT]
    blind = outputs or (blind if len(blind) == len(found.leaves) else [])
    if not blind:
        return verdict
    jump = measured.first_jump(runs.wide[0] if runs.wide else runs.mine)
    begins = f"; that begins in {jump}: does a choice there depend on the last bit?" if jump else ""
    name = f"{shown_path(blind[0])} of the reference"
    lost = cancellation(blind[0], limits.tolerances[blind[0]], verdict.judged_in, GIVE_TOLERANCE)
    return inconclusive(verdict, f"{moved_by_rounding(name, lost)}{begins}; {GIVE_TOLERANCE}", lost)


def is_near(verdict: CaseVerdict) -> bool:
    """Return whether more trials may decide: values differ, all of them by little more than few trials allow."""
    wrong = [leaf for leaf in verdict.leaves if not leaf.agrees]
    return verdict.outcome == DIFFERS and bool(wrong) and all(leaf.excess <= NEAR_BY_FEW_TRIALS for leaf in wrong)


# --- weights ----------------------------------------------------------------------------------------------------------


def comparable_weights(loaded: Loaded) -> set[str]:
    """Return the reference's weights whose gradients are the candidate's, too, if both are right: not those for which
    it holds other numbers."""
    return {name for mine, _ in loaded.placed for name in mine}.difference(loaded.other)


def rounded_to(loaded: Loaded) -> str:
    """Return the dtype that weights were rounded to, that of most if there are several; empty if none was."""
    return next((dtype for dtype, _ in Counter(loaded.rounded.values()).most_common(1)), "")


def judge_rounding(
    request: ParityRequest, their_dtype: str, loaded: Loaded, cases: list[CaseVerdict]
) -> tuple[str, list[CaseVerdict]]:
    """Judge weights that are the reference's, rounded, where all else agrees: that is a difference, unless the
    candidate's dtype says so itself. Then it is a condition, which is returned."""
    dtype = rounded_to(loaded)
    if not dtype or request.tolerance_given or gravest(case.outcome for case in cases) != AGREES:
        return "", cases
    if dtype in (their_dtype, request.dtype):
        return f"weights may be rounded to {dtype}", cases
    reason = f"the candidate's weights are the reference's rounded to {dtype}; all else agrees with the reference's"
    first = msgspec.structs.replace(cases[0], outcome=DIFFERS, kind=ROUNDED, reason=f"{reason} rounded alike")
    return "", [first, *cases[1:]]


def rowless(paths: Iterable[str]) -> set[str]:
    """Return the paths of weights and their gradients, whose rows are nobody's inputs."""
    return {path for path in paths if path.partition(".")[0] in (GRADIENTS, "weights")}


# --- values -----------------------------------------------------------------------------------------------------------


def is_inexact(value: Any) -> bool:
    if isinstance(value, float | Bfloat16):
        return True
    return is_array(value) and str(value.dtype).removeprefix("torch.").startswith(("float", "bfloat", "complex"))


def is_finite(value: Any) -> bool:
    return not is_inexact(value) or bool(np.isfinite(numbers_of(value)).all())


def is_all_nan(value: Any) -> bool:
    if not is_inexact(value):
        return False
    numbers = numbers_of(value)
    return bool(numbers.size) and bool(np.isnan(numbers).all())

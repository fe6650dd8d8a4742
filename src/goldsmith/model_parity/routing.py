"""Outputs that differ because of a choice inside that ties: a token that goes to another expert, by rounding alone.

What the experts return is then right, and not the same. The choice itself is often no module's output, so it is told by
its effect: what differs are rows, and in just these rows two scores of one module of the reference are nearer to each
other than rounding moves them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from goldsmith.gold.choices import Choice, close_positions, widths_of
from goldsmith.gold.precision import computed_dtype, unit_of
from goldsmith.judge.decision import inconclusive
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict
from goldsmith.model_parity.traced_choices import as_scores, returned_scores
from goldsmith.runs.conditions import WIDE

if TYPE_CHECKING:
    from goldsmith.model_parity.both_sides import Runs
    from goldsmith.model_parity.judge import ValueJudge
    from goldsmith.model_parity.noise import Limits, Measured
    from goldsmith.runs.implementation import Implementation
    from goldsmith.runs.requests import RunRequest
    from goldsmith.runs.run import Run

MAX_CANDIDATES, MAX_CHOSEN = 512, 8
"""How many a router chooses among, and how many it chooses, at most."""
CHANCE, CHANCE_IN_FLOAT64 = 1e-3, 0.1
"""The chance up to which rows that tie by accident may be those that differ, over all scores that are tried; and where
both ran in float64: if they agree there, nothing but rounding is left to blame, and else it is doubt."""
_TRIALS = 4


def with_routing(
    cases: list[CaseVerdict],
    reference: Implementation,
    request: RunRequest,
    runs: Runs,
    measured: Measured,
    judge: ValueJudge,
) -> list[CaseVerdict]:
    """Return the verdicts, told as the router's tie where forward values differ by nothing else. Where both agree in
    float64, that decides; where they do not, it must be a tie there, too, and nothing can be said."""
    forward = cases[0]
    exact = judge.in_float64.get(forward.name)
    if forward.outcome != DIFFERS or forward.kind != "values" or (exact is False and runs.wide is None):
        return cases
    sides, limits = (runs.mine, runs.theirs), measured.own
    if exact is False and runs.wide is not None:
        sides, limits, request = runs.wide, measured.wide, request.under(precision=WIDE)
    wrong = {item.path: rows for item in forward.natural if (rows := _rows(item.path, sides, limits)) is not None}
    if not wrong or any(not item.agrees and item.path not in wrong for item in forward.natural):
        return cases
    found = min(_ties(list(wrong.values()), reference, request), default=None)
    if found is None or found[0] > (CHANCE if exact is None else CHANCE_IN_FLOAT64):
        return cases
    _, name, count = found
    why = (
        f"rounding routes {count} of {max(map(len, wrong.values()))} rows otherwise than in the reference: by its own "
        f"scores in {name} there is a tie in each of them, and the rest agrees"
    )
    return [_retold(case, why, None if exact is False else judge.in_float64.get(case.name)) for case in cases]


def _retold(case: CaseVerdict, why: str, exact: bool | None) -> CaseVerdict:
    if case.outcome != DIFFERS or exact is False:
        return case
    if exact:
        note = f"{why}; in float64 both agree"
        return msgspec.structs.replace(
            case, outcome=AGREES, kind="", reason="", close=False, judged_in="float64", notes=(*case.notes, note)
        )
    return inconclusive(case, why)


def _rows(path: str, sides: Sequence[Run], limits: Limits) -> Any:
    """Return which rows of an output are out of tolerance; None if it has no rows, or cannot be compared."""
    mine, theirs = (as_scores(side.values.get(path)) for side in sides)
    limit = limits.tolerances.get(path)
    if mine is None or theirs is None or mine.shape != theirs.shape or mine.ndim < 2 or limit is None or not limit.max:
        return None
    off = ~(np.abs(mine - theirs) <= limit.max * limit.scale)
    return off.reshape(-1, mine.shape[-1]).any(axis=-1)


def _ties(wrong: Sequence[Any], reference: Implementation, request: RunRequest) -> Iterator[tuple[float, str, int]]:
    """Yield, for scores whose ties explain the rows that are wrong, the chance that they do so by accident, their name,
    and how many rows those are."""
    traced = request.under(traced=True, gradients=False)
    own = dict(returned_scores(reference.run(traced)))
    trials = [dict(returned_scores(reference.run(traced.under(noise=number)))) for number in range(1, _TRIALS + 1)]
    tried = 0
    for name, scores in own.items():
        rows = scores.reshape(-1, 1, scores.shape[-1])
        fits = all(len(item) == len(rows) for item in wrong) and 2 <= rows.shape[-1] <= MAX_CANDIDATES
        moved = [
            trial[name].reshape(rows.shape) - rows
            for trial in trials
            if name in trial and trial[name].shape == scores.shape
        ]
        if not fits or not moved or not np.isfinite(rows).all():
            continue
        unit = unit_of(rows, computed_dtype(rows, "float64"))
        widths = widths_of(rows, np.abs(np.stack(moved)).max(axis=0), unit)
        for count in range(1, min(MAX_CHOSEN, rows.shape[-1] - 1) + 1):
            tried += 1
            close = close_positions(rows, widths, count, Choice(path="", unordered=True)).any(axis=(-1, -2))
            at = np.logical_or.reduce(list(wrong))
            if at.any() and not (at & ~close).any():
                chance = math.comb(int(close.sum()), int(at.sum())) / math.comb(len(close), int(at.sum()))
                yield chance * tried, name, int(at.sum())

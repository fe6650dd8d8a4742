"""The reference's own noise, measured while both sides are here, and the tolerances that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from goldsmith.gold.arrays import difference_of, is_array, leaf_facts, numbers_of
from goldsmith.gold.calibration import CONTROLS, NARROWED, NOISE, ZERO, Calibrated, Trials, calibrate
from goldsmith.gold.choices import OF_CHOICES, Choice
from goldsmith.gold.facts import CaseFacts, FileFacts, LeafFacts
from goldsmith.gold.files import NOISY_PREFIX
from goldsmith.gold.precision import computed_dtype, is_float64, unit_of
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.gold.tolerances import MOSTLY, NOISY_SAFETY, SAFETY, Tolerance, first_jump, with_floor
from goldsmith.judge.policy import FINEST_OF_PARITY
from goldsmith.judge.traces import Call, calls_in, farthest, in_order_of_return
from goldsmith.model_parity.traced_choices import scores_in_calls
from goldsmith.runs.conditions import OWN, WIDE
from goldsmith.runs.implementation import GRADIENTS, INPUT_GRADIENTS, Implementation
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run

QUICK = 4
"""How many draws of noise are taken unless told: their maximum is a third below that of a dozen, and tolerances are
three times as large."""
_WIDE_TRIALS, _TRACED_TRIALS = 2, 4
MORE = 12
"""How many are taken, in each dtype, where so few do not decide."""
_OTHER_BITS = 2.0**-40
"""How far inputs are moved to see whether a run in float64 rounds to a coarser dtype, which would not show it."""
_COARSE = 1e-10
"""Noise in float64 from which a model has constants that were rounded to float32, as frequencies are. Rounding in
float64 is four orders of magnitude smaller."""
_FARTHEST = 3.0
"""How many times farther off than measured an element may be there: another model rounds other constants, such as whole
tables of cosines. In 200 comparisons of right models (scripts/port_table.py) it was up to 1.7 times."""


@dataclass
class Limits:
    """Tolerances by path, and which elements are noise."""

    tolerances: dict[str, Tolerance] = field(default_factory=dict)
    noisy: dict[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    arrays: dict[str, Any] = field(default_factory=dict)
    """What choices were made from."""


@dataclass
class Measured:
    """Limits for each model's own dtype and for float64; by position in the trace, how far a call's output moves."""

    own: Limits = field(default_factory=Limits)
    wide: Limits = field(default_factory=Limits)
    calls: dict[int, float] = field(default_factory=dict)
    unfaithful: bool = False

    def first_jump(self, plain: Run) -> str:
        """Name the first call, in the order in which they ended, whose output noise moves so far that nothing can be
        judged by it."""
        ended = in_order_of_return(calls_of(plain))
        return first_jump({call.label: self.calls.get(call.position, 0.0) / SAFETY for call in ended})


def measure_noise(
    reference: Implementation,
    request: RunRequest,
    plain: Run,
    wide: Run | None,
    *,
    trials: int,
    coarser: str,
    on_run: Callable[[], None],
    wide_trials: int = _WIDE_TRIALS,
) -> Measured:
    """Run the reference again with changes that must not matter. `coarser` is the candidate's dtype, if that has fewer
    digits than the reference's: then the reference's noise is what it becomes in that dtype."""
    found = Measured()
    gold = _numbers(plain.values)
    differences: dict[str, Mapping[str, Any]] = {}

    def attempt(name: str, changed: RunRequest, beside: Mapping[str, Any]) -> Run:
        on_run()
        ran = reference.run(changed)
        if ran.facts.failure is None:
            differences[name] = _apart(beside, _numbers(ran.values))
        return ran

    untraced = request.under(traced=False)
    attempt(CONTROLS[0], untraced, gold)
    for number in range(1, trials + 1):
        attempt(f"{NOISE}{number}", _noisy(untraced, number, coarser or OWN), gold)
    facts = _facts(plain.values, coarser)
    unit = _unit_of_unmoved(facts, gold, differences)
    for number in range(1, _WIDE_TRIALS + 1) if unit else ():
        changed = _noisy(untraced, 200 + number, coarser or OWN).under(unit=unit)
        attempt(f"{NARROWED}{number}", changed, gold)
    exact = _numbers(wide.values) if wide is not None else {}
    traced = request.under(traced=True)
    noisy = [_noisy(traced, number, coarser or OWN) for number in range(1, _TRACED_TRIALS + 1)]
    own, chosen = scores_in_calls(reference, plain, traced, noisy, differences)
    calibrated = calibrate(facts, Trials({**gold, **own}, differences, exact, chosen))
    found.unfaithful = calibrated.unfaithful
    found.own = _limits(calibrated, gold)
    if wide is not None:
        differences.clear()
        runs = []
        for number in range(1, wide_trials + 1):
            changed = _noisy(request.under(constants=True), 100 + number, WIDE)
            runs.append(attempt(f"{NOISE}{number}", changed, exact))
        sharp = calibrate(_facts(wide.values, "float64"), Trials(exact, differences))
        found.wide = _limits(sharp, exact)
        found.wide.tolerances = {path: _with_finest(item) for path, item in found.wide.tolerances.items()}
        _allow_zeros(found, gold, exact)
        found.calls = _call_noise(wide, runs)
    elif plain.trace is not None:
        runs = [reference.run(_noisy(request, 100 + number, coarser or OWN)) for number in range(1, wide_trials + 1)]
        found.calls = _call_noise(plain, runs)
    return found


def _with_finest(tolerance: Tolerance) -> Tolerance:
    found = with_floor(tolerance, "float64", FINEST_OF_PARITY)
    if found.max is None or (tolerance.max or 0.0) <= _COARSE:
        return found
    return msgspec.structs.replace(found, max=_FARTHEST * found.max)


def _unit_of_unmoved(facts: CaseFacts, gold: Mapping[str, Any], differences: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the unit in the last place of what no trial has moved, though it is not exact: code that torch does not
    see has rounded the noise away. 0 if there is none."""
    dtypes = {leaf.path: leaf.dtype for leaf in facts.file.leaves}
    noise = [item for name, item in differences.items() if name.startswith(NOISE)]
    still = [path for path in dtypes if not any(path in item and item[path].any() for item in noise)]
    return max((unit_of(gold[path], dtypes[path]) for path in still), default=0.0)


def rounded_values(run: Callable[[RunRequest], Run], request: RunRequest, wide: Run) -> tuple[str, str] | None:
    """Return the first value of a run in float64 that was not computed in it, and the dtype that it was rounded to.

    Numbers that fit into float32 do not show it by themselves, since inputs are such numbers, too: others are tried.
    What is zero but for rounding, such as the gradient of a key's bias, shows nothing.
    """
    found = _numbers(wide.values)
    least = _OTHER_BITS * max((_size(values) for path, values in found.items() if is_gradient(path)), default=0.0)
    rounded = {
        path: values
        for path, values in found.items()
        if not is_float64(values) and not (is_gradient(path) and _size(values) <= least)
    }
    if not rounded:
        return None
    others = _numbers(run(request.under(noise=1, unit=_OTHER_BITS, traced=False)).values)
    still = (path for path in rounded if path in others and not is_float64(others[path]))
    return next(((path, computed_dtype(rounded[path], WIDE)) for path in still), None)


def is_gradient(path: str) -> bool:
    return path.partition(".")[0] in (GRADIENTS, INPUT_GRADIENTS)


def _size(values: Any) -> float:
    return float(abs(values).max(initial=0.0))


def _noisy(request: RunRequest, seed: int, precision: str) -> RunRequest:
    as_dtype = precision if precision not in (OWN, WIDE) else request.conditions.inputs_as
    return request.under(noise=seed, precision=precision, inputs_as=as_dtype)


def _call_noise(plain: Run, noisy: list[Run]) -> dict[int, float]:
    """Return how far each call's output moves with noise, times the safety of every tolerance."""
    before = calls_of(plain)
    found: dict[int, float] = {}
    for ran in noisy:
        after = calls_of(ran)
        if [call.module for call in after] != [call.module for call in before]:
            continue
        for one, two in zip(before, after, strict=True):
            off = SAFETY * farthest(two.outputs, one.outputs)
            if off < float("inf"):
                found[one.position] = max(found.get(one.position, 0.0), off)
    return found


def calls_of(ran: Run) -> list[Call]:
    """Read the calls in a run's trace; none where it was not traced."""
    return calls_in(ran.trace) if ran.trace is not None else []


def _limits(calibrated: Calibrated, gold: Mapping[str, Any]) -> Limits:
    """Return the limits. Where much of a tensor is noise all of it is: few trials do not move every element."""
    arrays = {name: item for name, item in calibrated.reference.items() if name.startswith(OF_CHOICES)}
    found = Limits(dict(calibrated.tolerances), choices=tuple(calibrated.choices), arrays=arrays)
    for path, item in calibrated.tolerances.items():
        if item.noisy > MOSTLY * gold[path].size:
            found.noisy[path] = np.ones(gold[path].shape, dtype=bool)
        elif item.noisy:
            found.noisy[path] = calibrated.reference[NOISY_PREFIX + path]
    return found


def _allow_zeros(found: Measured, gold: Mapping[str, Any], exact: Mapping[str, Any]) -> None:
    """Give room to what is mathematically zero, such as the gradient of a key's bias: it is rounding in any dtype, and
    a right candidate's is other rounding of that size."""
    for path, values in exact.items():
        size = float(np.abs(gold[path]).max(initial=0.0)) if path in gold else 0.0
        if not size or not np.isfinite(values).all() or float(np.abs(values).max(initial=0.0)) > ZERO * size:
            continue
        seen = found.own.tolerances[path].noisy_limit if path in found.own.tolerances else 0.0
        for limits, limit in ((found.own, max(NOISY_SAFETY * size, seen)), (found.wide, ZERO * size)):
            limits.noisy[path] = np.ones(values.shape, dtype=bool)
            limits.tolerances[path] = Tolerance(
                kind="measured",
                reason="it is zero but for rounding",
                l2=FINEST_OF_PARITY,
                max=FINEST_OF_PARITY,
                noisy=values.size,
                noisy_limit=limit,
            )


def _facts(values: Mapping[str, Any], dtype: str) -> CaseFacts:
    """Describe values as calibration needs it, floating ones as if they were of `dtype`."""
    leaves = [_leaf(path, value, dtype) for path, value in values.items() if _is_number(value)]
    return CaseFacts(name="parity", kind="output", file=FileFacts("", leaves=tuple(leaves)))


def _leaf(path: str, value: Any, dtype: str) -> LeafFacts:
    narrow = isinstance(value, Bfloat16)
    found = LeafFacts(path, "bfloat16", tuple(value.shape)) if narrow else leaf_facts(path, value)
    return msgspec.structs.replace(found, dtype=dtype) if dtype and found.is_inexact else found


def _is_number(value: Any) -> bool:
    return is_array(value) or isinstance(value, int | float | Bfloat16)


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {path: numbers_of(value) for path, value in values.items() if _is_number(value)}


def _apart(gold: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    same = (path for path in gold if path in found and found[path].shape == gold[path].shape)
    return {path: difference_of(found[path], gold[path]) for path in same}

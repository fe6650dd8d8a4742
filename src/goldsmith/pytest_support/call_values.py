"""Values of a function that a test gives: computed on the inputs and weights that were kept, recorded with noise."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

import goldsmith
from goldsmith.comparison.api import compare
from goldsmith.comparison.results import Comparison
from goldsmith.errors.pytest import GoldMismatch, NotRepeatable, ReturnsNothing
from goldsmith.foundation.nested import leaves_in, walk
from goldsmith.gold.arrays import dtype_name, is_array, is_tensor, numbers_of
from goldsmith.gold.calibration import NOISE, TOO_NOISY
from goldsmith.gold.tolerances import Tolerance
from goldsmith.judge.decision import BY_PRECISION, decide, moved_by_rounding, sharper, undecided
from goldsmith.judge.follows_dtype import inner_dtypes, nudges, off_in_float64, rounds_inside
from goldsmith.judge.verdicts import AGREES, CaseVerdict
from goldsmith.model_parity.noise import QUICK, Limits, measure_noise, rounded_values
from goldsmith.pytest_support.compared_values import compare_values, number_paths
from goldsmith.pytest_support.keepable import keepable
from goldsmith.pytest_support.kept_entry import ToKeep
from goldsmith.pytest_support.kept_gold import KeptCheck, path_in_value
from goldsmith.pytest_support.path_patterns import VALUE, Ignored
from goldsmith.runs.conditions import WIDE, Conditions
from goldsmith.runs.implementation import OUTPUT, Implementation, LoadRequest
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run
from goldsmith.weights.values import snapshot

_OURS = str(Path(goldsmith.__file__).parent)
_CHANGE_OF_VALUES = ("", "values", "nan", "inf")
"""What may be different in inputs that a function draws."""


class Callee(Implementation, Protocol):
    """The function or model, and its inputs."""

    draws_inputs: bool
    returned: Any
    error: BaseException | None

    def named_inputs(self) -> dict[str, Any]:
        """Return copies of the inputs by name."""

    def put_inputs(self, kept: Any) -> None:
        """Use these inputs instead of the test's."""


class CallValues:
    """What a function or model returns. With `weights`, a model runs with those that were kept."""

    def __init__(
        self, make: Callable[[], Callee], *, train: bool, weights: bool, ignored: Ignored | None = None
    ) -> None:
        self._make, self._ignored = make, ignored
        self._request = RunRequest(case="0", conditions=Conditions(train=train))
        with self._opened() as callee:
            described = callee.describe()
        self.name = described.name
        self.keeps_weights = weights and described.is_module

    def replay(self, kept: KeptCheck) -> tuple[Any, dict[str, Any]]:
        """Return what it returns for the inputs and weights that were kept, and in float64, if that was kept and if it
        can, by path."""
        with self._opened() as callee:
            found = compare(callee.named_inputs(), kept.inputs, equal_nan=True, guessing=False)
            allowed = _CHANGE_OF_VALUES if callee.draws_inputs else ("",)
            other = [leaf for leaf in found.leaves if leaf.problem not in allowed]
            if other:
                raise GoldMismatch(f"the inputs of {self.name} are not those that were kept\n  {other[0]}")
            callee.put_inputs(kept.inputs)
            if kept.weights is not None:
                loaded = callee.load(kept.weights, LoadRequest(facts=kept.weight_facts))
                if loaded.unplaced or loaded.reasons:
                    names = ", ".join(list(loaded.unplaced)[:3]) or "; ".join(loaded.reasons)
                    raise GoldMismatch(f"the weights that were kept do not fit into {self.name}: {names}")
            value = self._run(callee)[1]
            wide = self._in_float64(callee) if kept.reference else None
            if wide is None or self._rounds_inside(callee, wide, kept):
                return value, {}
            return value, _by_path(wide)

    def record(self) -> ToKeep:
        """Return what is to be kept of it, with tolerances from its own noise."""
        with self._opened() as callee:
            inputs, facts = callee.named_inputs(), callee.describe().facts
            weights = snapshot(callee.weights(), "weights") if self.keeps_weights else None
            plain, value = self._run(callee)
            again = compare_values(self._run(callee)[1], value, rtol=0.0, equal_nan=True, guessing=False)
            if not again:
                raise NotRepeatable(self.name, str(again.differing[0]).splitlines()[0])
            limits, trials, wide = Limits(), 0, self._in_float64(callee)
            if _is_disturbed(callee, value):
                measured = measure_noise(
                    callee, self._request, plain, wide, trials=QUICK, coarser="", on_run=lambda: None
                )
                limits, trials = measured.own, QUICK
        judged = {f"{OUTPUT}.{path}" if path else OUTPUT for path in number_paths(value)}
        wanted = [path for path in _trusted(limits) if path in judged] if wide is not None else []
        choices = tuple(item for item in limits.choices if item.path in judged)
        return ToKeep(
            value=value,
            inputs=inputs,
            weights=weights,
            facts=facts if weights is not None else None,
            tolerances={path: item for path, item in limits.tolerances.items() if path in judged},
            noisy={path: item for path, item in limits.noisy.items() if path in judged},
            reference={path: numbers_of(wide.values[path]) for path in wanted} if wide is not None else {},
            choices=choices,
            choice_arrays={
                name: item
                for name, item in limits.arrays.items()
                if name.partition(":")[2] in {choice.path for choice in choices}
            },
            trials=tuple(f"{NOISE}{number + 1}" for number in range(trials)),
            note=_too_noisy(limits, value),
        )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Callee]:
        callee = self._make()
        try:
            yield callee
        finally:
            callee.close()

    def _run(self, callee: Callee) -> tuple[Run, Any]:
        ran = callee.run(self._request)
        if ran.facts.failure is not None:
            _raise_as_its_own(callee.error)
        if callee.returned is None and ran.facts.overwrote:
            raise ReturnsNothing(self.name, ran.facts.overwrote[0])
        return ran, keepable(callee.returned, self._ignored)

    def _in_float64(self, callee: Callee) -> Run | None:
        request = self._request.under(precision=WIDE)
        ran = callee.run(request)
        fine = ran.facts.failure is None and ran.facts.pure
        return ran if fine and rounded_values(callee.run, request, ran) is None else None

    def _rounds_inside(self, callee: Callee, wide: Run, kept: KeptCheck) -> bool:
        """Say whether it rounds to its own dtype inside, whatever it is given, and nothing else is wrong in float64."""
        own = dict(walk(kept.value))
        plain = {path: numbers_of(item) for path, item in _by_path(wide).items()}
        dtypes = {path: dtype_name(leaf) for path, leaf in own.items() if is_array(leaf)}
        sharp = {path: sharper(item, dtypes.get(path, "")) for path, item in kept.tolerances.items()}
        dtype = next((name for name in BY_PRECISION if name in dtypes.values()), "")
        for inner in inner_dtypes(dtype) if off_in_float64(plain, kept.reference, sharp, kept.noisy) else ():
            fine, coarse = (
                _by_path(callee.run(self._request.under(precision=WIDE, unit=item.unit))) for item in nudges(inner)
            )
            if rounds_inside(dtype, inner, (plain, fine, coarse), kept.reference, sharp, own, kept.noisy):
                return True
        return False


def _is_disturbed(callee: Callee, value: Any) -> bool:
    """Say whether noise reaches the function that returns `value`: through every operation of torch, or through inputs
    in NumPy."""
    if callee.describe().is_module or any(is_tensor(leaf) for leaf in leaves_in(value)):
        return True
    inputs = leaves_in(list(callee.inputs()[0].named().values()))
    return any(is_array(leaf) and dtype_name(leaf).startswith(("float", "complex")) for leaf in inputs)


def _trusted(limits: Limits) -> list[str]:
    """List the values whose result in float64 was near enough to count as a trial."""
    return [path for path, item in limits.tolerances.items() if item.noise and item.noise.float64 is not None]


def _by_path(ran: Run) -> dict[str, Any]:
    return {path_in_value(path): item for path, item in ran.values.items()}


def judge_call(
    found: Comparison,
    wide: Mapping[str, Any],
    wanted: Mapping[str, Any],
    tolerances: Mapping[str, Tolerance],
    noisy: Mapping[str, Any],
) -> tuple[Comparison, str]:
    """Judge a function by the comparison in its own dtype and by its results in float64, as a case of a course is;
    `wanted` are those that were kept. Return the comparison that decides, and "" or the dtype that it was made in."""
    named = {leaf.path for leaf in found.differing} <= wanted.keys() <= wide.keys()
    if not wanted or not named:
        return found, ""
    dtypes = {leaf.path: leaf.gold_dtype for leaf in found.leaves}
    sharp = compare(
        {path: numbers_of(wide[path]) for path in wanted},
        wanted,
        tolerances={path: sharper(limit, dtypes.get(path, "")) for path, limit in tolerances.items()},
        noisy=noisy,
        equal_nan=list(wanted),
    )
    verdict = decide(CaseVerdict(name="", title="", outcome=AGREES), found, sharp)
    return (found, "") if (verdict.outcome == AGREES) == bool(found) else (sharp, WIDE)


def why_undecided(found: Comparison, tolerances: Mapping[str, Tolerance]) -> str:
    """Say why it is not known whether values agree that do: rounding alone moves them as far. Empty if it is known;
    what is the same to the last bit is."""
    for path in undecided(tolerances, found.leaves):
        why = moved_by_rounding(path or VALUE)
        return f"inconclusive: {why}, so nothing can be judged by it; check it on other inputs, or with rtol or atol"
    return ""


def _too_noisy(limits: Limits, value: Any) -> str:
    """Name the first value that is mostly rounding, so that hardly any error in it would be seen."""
    for path, leaf in walk(value, OUTPUT):
        limit = limits.tolerances.get(path)
        count = math.prod(leaf.shape) if is_array(leaf) else 1
        if limit is not None and (limit.noisy > count / 2 or (limit.max or 0.0) > TOO_NOISY):
            name = path.removeprefix(f"{OUTPUT}.") if path != OUTPUT else VALUE
            return f"{name} varies so much with rounding alone that little can be judged by it"
    return ""


def _raise_as_its_own(error: BaseException | None) -> NoReturn:
    """Raise what the function raised, as if the test had called it."""
    assert error is not None
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    raise error.with_traceback(trace)

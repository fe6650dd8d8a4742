"""Trials: the solution replayed on its own gold with changes that must not matter.

Differences in the outputs are then the noise that every correct implementation has, too. This module runs the trials
and writes the differences; `gold/calibration.py` turns them into tolerances.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from goldsmith.foundation.nested import leaves_in
from goldsmith.frameworks.framework import Watch, active
from goldsmith.gold.arrays import (
    Computed,
    difference_of,
    dtype_name,
    is_array,
    judged_leaves,
    judged_part,
    leaf_facts,
    numbers_of,
    numeric_leaves,
)
from goldsmith.gold.files import MAPPED_BYTES, read_payload, write_arrays
from goldsmith.gold.precision import BITS, computed_dtype, is_float64, unit_of
from goldsmith.gold.row_sets import in_order_of
from goldsmith.gold.safetensors_writer import encoded
from goldsmith.instruments.call_noise import CallOutputs, call_noise
from goldsmith.process.messages import CALL_NOISE, CHOICES, GOLD, TrialFailure
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition
from goldsmith.runs.conditions import OWN, WIDE, Conditions
from goldsmith.weights.models import compile_model
from goldsmith.worker.record_session import collect_garbage
from goldsmith.worker.trial_choices import TrialChoices

if TYPE_CHECKING:
    from goldsmith.worker.replay_session import ReplaySession

_PLAIN, _NOISY, _START = 5e-6, 20e-6, 2.0
_BUDGET, _OTHERS, _FEWEST = 12.0, 5.5, 2
"""Typical seconds for a plain operation, for a perturbed one, and to start a process; then the budget and what the
other trials take of it, both in runs of the recipe, and the fewest draws of noise. Operations are counted, not timed,
so that the number of draws is always the same."""

_WATCHED = 1
"""Draws of noise in which functions are watched, in each of the two processes."""


ROUNDED_OUTSIDE = "*"
"""In the place of a path: something inside is rounded to float32 outside of torch, where noise does not reach it."""


_OTHER_BITS = 2.0**-40
"""How far inputs are moved to see whether a run in float64 rounds to a coarser dtype, which would not show it."""


class RoundedInside(Exception):
    """The float64 run computed in a smaller dtype somewhere."""


class NothingToDisturb(Exception):
    pass


class ToleranceTrials:
    """Runs every trial over every case of a session; differences go to `output/<case>/<trial>.safetensors`.

    For a trial in float64 that file has the values themselves: they are the reference that is kept.
    """

    def __init__(self, session: ReplaySession) -> None:
        self._session, self._trials = session, session.job.trials
        self.failures: list[TrialFailure] = []
        self._busy: dict[str, int] = {}
        self._wide: dict[str, int] = {}
        self._unmoved: dict[str, dict[str, float]] = {}
        self._calm: dict[str, CallOutputs] = {}
        self._call_noise: dict[str, dict[str, float]] = {}
        self._choices: dict[str, TrialChoices] = {}

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        files = {name: Path(kept.file) for name, kept in self._session.job.kept.items()}
        definitions = [item for item in definitions if item.name in files]
        payloads = {item.name: read_payload(files[item.name], mapped=True) for item in definitions}
        outputs = {name: judged_leaves(payload) for name, payload in payloads.items()}
        for name, leaves in outputs.items():
            self._choices[name] = TrialChoices(payloads[name], leaves)
            numbers = _numbers(leaves)
            write_arrays(numbers, self._file(name, GOLD))
            self._unmoved[name] = {
                path: unit
                for path, leaf in leaves.items()
                if (unit := unit_of(numbers[path], leaf_facts(path, leaf).dtype))
            }
        drawn = 0
        for number, trial in enumerate(self._trials, start=1):
            if trial.noise is not None and not trial.narrowed:
                if drawn >= self._affordable():
                    continue
                drawn += 1
            self._session.announce(trial.name, number, len(self._trials))
            for definition in definitions:
                name = definition.name
                if not trial.narrowed or self._unmoved[name] or self._is_finer_inside(name, payloads[name]):
                    self._try(trial, definition, payloads[definition.name], outputs[definition.name])
        for name, noise in self._call_noise.items():
            (self._session.output / name / CALL_NOISE).write_bytes(msgspec.json.encode(noise))
        for name, choices in self._choices.items():
            if choices.noted.found or choices.noted.branches:
                (self._session.output / name / CHOICES).write_bytes(msgspec.json.encode(choices.noted))

    def _affordable(self) -> float:
        """Return how many draws of noise fit into the budget, once the first has counted the operations."""
        operations = sum(self._busy.values())
        if not operations:
            return float("inf")
        plain = _START + _PLAIN * operations
        return max(_FEWEST, (_BUDGET * plain - _OTHERS * _PLAIN * operations) / (_NOISY * operations))

    def _is_finer_inside(self, name: str, payload: Mapping[str, Any]) -> bool:
        """Say whether a case without float64 arrays computes in float64 inside, as noise has shown.

        Other implementations will use float32 there.
        """
        arrays: list[Any] = [leaf for leaf in leaves_in(payload) if is_array(leaf)]
        own = {dtype_name(leaf) for leaf in arrays if leaf.shape}
        return bool(self._wide.get(name)) and not own & {"float64", "complex128"}

    def _try(
        self, trial: Conditions, definition: CaseDefinition, payload: Mapping[str, Any], gold: Mapping[str, Any]
    ) -> None:
        try:
            found = self._replay(trial, definition, payload)
            collect_garbage(Path(self._session.job.kept[definition.name].file))
            if trial.precision == WIDE:
                found = self._without_rounded(trial, definition, payload, found)
            differences = _differences(trial, gold, found)
            more = self._choices[definition.name].arrays
            every = Computed([*differences, *more], lambda path: more[path] if path in more else differences[path])
            encoding = encoded(every)
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            text = re.sub(r" at 0x[0-9a-f]+|/\S*/course/", "", text)[:120]
            message = f"{type(error).__name__}: {text}"
            self.failures.append(TrialFailure(definition.name, trial.name, message))
        else:
            with self._file(definition.name, trial.name).open("wb") as file:
                encoding.write_to(file)
            if trial.noise is not None:
                unmoved = self._unmoved[definition.name]
                for path in [path for path in unmoved if path in differences and differences[path].any()]:
                    del unmoved[path]

    def _without_rounded(
        self, trial: Conditions, definition: CaseDefinition, payload: Mapping[str, Any], found: dict[str, Any]
    ) -> dict[str, Any]:
        """Leave out what was not computed in float64, though it was given float64. Numbers that fit into float32 do not
        show it by themselves, since inputs are such numbers, too: others are tried."""
        rounded = [path for path, leaf in found.items() if not is_float64(numbers_of(leaf))]
        if rounded:
            others = self._replay(trial.but(unit=_OTHER_BITS), definition, payload)
            rounded = [path for path in rounded if path in others and not is_float64(numbers_of(others[path]))]
        if rounded:
            dtype = computed_dtype(numbers_of(found[rounded[0]]), "float64")
            message = f"{rounded[0]} is rounded to {dtype} in a run in float64, too"
            self.failures.append(TrialFailure(definition.name, trial.name, message))
        return {path: leaf for path, leaf in found.items() if path not in rounded}

    def _replay(self, trial: Conditions, definition: CaseDefinition, payload: Mapping[str, Any]) -> dict[str, Any]:
        disturbed: list[bool] = []
        if trial.narrowed:
            trial = trial.but(unit=max(self._unmoved[definition.name].values(), default=0.0))
        calls = CallOutputs()
        session = self._session
        given = session.inputs_for(definition, trial, payload, lambda: disturbed.append(True))
        choices = self._choices[definition.name].of(trial)
        on_model = calls.attach if not trial.compiled else lambda name, model: compile_model(model)
        case = _TrialCase(definition, session.seed, session.device, given, on_model=on_model, choices=choices)
        values = session.recorded(definition, trial, case, self._watch(trial, calls, definition.name))
        self._note_operations(trial, definition.name, session.watch)
        calls.detach()
        self._note_calls(trial, definition.name, calls)
        values = in_order_of(judged_part(payload), values, case.unordered_records())
        self._choices[definition.name].note(trial, case, values, calls)
        operations = any(item.numerics.disturbs_operations for item in active())
        if _disturbs(trial) and not (disturbed or operations):
            raise NothingToDisturb("no floating-point array goes in")
        return numeric_leaves(values)

    def _watch(self, trial: Conditions, calls: CallOutputs, name: str) -> contextlib.AbstractContextManager[None]:
        """Keep what functions return, in the first trials only, unless choices are made from it: to watch them takes
        twice as long."""
        drawn = [it for it in self._trials if it.noise is not None and not it.narrowed][:_WATCHED]
        watched = trial in (*self._trials[:1], *drawn) or bool(self._choices[name].noted.found)
        own_code = self._session.own_code
        return own_code.watch(calls) if own_code and watched else contextlib.nullcontext()

    def _note_calls(self, trial: Conditions, name: str, calls: CallOutputs) -> None:
        """Keep what submodules and functions returned in the first calm trial, and how far noise moves that."""
        if trial.noise is None and trial.precision == OWN and not trial.reseeded:
            self._calm.setdefault(name, calls)
        elif _disturbs(trial) and not trial.narrowed and name in self._calm:
            known = self._call_noise.setdefault(name, {})
            for key, gap in call_noise(self._calm[name], calls).items():
                known[key] = max(gap, known.get(key, 0.0))

    def _note_operations(self, trial: Conditions, name: str, watch: Watch) -> None:
        if trial.precision == WIDE:
            if watch.foreign:
                self._unmoved[name][ROUNDED_OUTSIDE] = 2.0 ** (1 - BITS["float32"])
            if not watch.pure:
                raise RoundedInside("it computes in a smaller dtype inside a run in float64")
        elif trial.noise is not None:
            self._busy[name], self._wide[name] = watch.operations, watch.wide

    def _file(self, case: str, trial: str) -> Path:
        return self._session.output / case / f"{trial}.safetensors"


class _TrialCase(Case):
    def _keep_weights(self, name: str, model: Any, drew: bool, build: Callable[..., Any]) -> None:
        """Keep nothing: they are gold's weights, and nobody asks a trial for them."""


def _disturbs(trial: Conditions) -> bool:
    return trial.noise is not None or bool(trial.unit)


def _numbers(leaves: Mapping[str, Any]) -> Computed[Any]:
    return Computed(leaves, lambda path: numbers_of(leaves[path]))


def _differences(trial: Conditions, gold: Mapping[str, Any], found: Mapping[str, Any]) -> Computed[Any]:
    """Return how far each leaf is from gold's; for a float64 trial, the numbers themselves."""
    if list(gold) != list(found) and trial.precision != WIDE:
        raise ValueError("it records other things then")

    def difference(path: str) -> Any:
        one, two = numbers_of(gold[path]), numbers_of(found[path])
        if one.shape != two.shape:
            raise ValueError(f"{path} then has shape {two.shape}, not {one.shape}")
        return two if trial.precision == WIDE else in_few_bytes(difference_of(two, one))

    return Computed(found, difference)


def in_few_bytes(numbers: Any) -> Any:
    """Return a large array of float64 in float32 where that holds the same numbers: mostly half of what trials leave,
    since neighbours in float32 are a number of float32 apart."""
    if numbers.nbytes <= MAPPED_BYTES:
        return numbers
    with np.errstate(over="ignore", under="ignore"):
        narrow = numbers.astype(np.float32)
    return narrow if np.array_equal(narrow, numbers, equal_nan=True) else numbers

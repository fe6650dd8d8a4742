"""Trials: the solution replayed on its own gold with things made different that must not matter.

What then differs in the outputs is the noise that every correct implementation has, too. This side runs the trials
and writes down the differences; what tolerance follows from them is decided in `gold`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldsmith.gold import judged_leaves, numbers_of, read_payload, write_arrays
from goldsmith.recording.cases import Case
from goldsmith.recording.given import Change, Given
from goldsmith.recording.noise import disturb, rounding_noise
from goldsmith.recording.protocol import GOLD, KeptCase, Trial, TrialFailure
from goldsmith.recording.registry import CaseDefinition
from goldsmith.recording.seeding import seed_everything
from goldsmith.recording.session import Session

MANY_OPERATIONS = 150_000
"""A case with more operations than this gets half of the noise: it has many to draw from, and they take time."""


class TrialSession(Session):
    """Runs every trial over every case; `output/<case>/<trial>.safetensors` has what came out differently.

    For a trial in float64 that file has the values themselves: they are the reference that is kept.
    """

    def __init__(self, output: Path, kept: Mapping[str, KeptCase], trials: Sequence[Trial], **options: Any) -> None:
        super().__init__(output, kept=kept, **options)
        self.failures: list[TrialFailure] = []
        self._trials = trials
        self._busy: dict[str, int] = {}

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        count = len(definitions)
        definitions = [item for item in definitions if item.name in self._kept]
        payloads = {item.name: read_payload(Path(self._kept[item.name].file)) for item in definitions}
        outputs = {name: judged_leaves(payload) for name, payload in payloads.items()}
        for name, leaves in outputs.items():
            write_arrays({path: numbers_of(leaf) for path, leaf in leaves.items()}, self._file(name, GOLD))
        for number, trial in enumerate(self._trials, start=1):
            self._on_case(trial.name, number, len(self._trials))
            for definition in definitions:
                if trial.noise is not None and number % 2 and self._busy.get(definition.name, 0) > MANY_OPERATIONS:
                    continue
                self._try(trial, definition, payloads[definition.name], outputs[definition.name])
        self.ran = count

    def _try(
        self, trial: Trial, definition: CaseDefinition, payload: Mapping[str, Any], gold: Mapping[str, Any]
    ) -> None:
        try:
            found = self._replay(trial, definition, payload)
            differences = _differences(trial, gold, found)
        except Exception as error:
            text = str(error).strip().splitlines()
            message = f"{type(error).__name__}: {text[0] if text else ''}"
            self.failures.append(TrialFailure(definition.name, trial.name, message))
        else:
            write_arrays(differences, self._file(definition.name, trial.name))

    def _replay(self, trial: Trial, definition: CaseDefinition, payload: Mapping[str, Any]) -> dict[str, Any]:
        kept = self._kept[definition.name]
        given = Given.from_payload(payload, kept.inputs, kept.models, _change(trial), trial.precision)
        seed_everything(self.seed if trial.seed is None else trial.seed, threads=trial.threads or self.threads)
        case = Case(definition, self.seed, self.device, given)
        with self._circumstances(trial, definition.name):
            definition.function(case)
        replayed, _ = case.finish()
        return judged_leaves(replayed)

    @contextlib.contextmanager
    def _circumstances(self, trial: Trial, name: str) -> Iterator[None]:
        torch = sys.modules.get("torch")
        if torch is None:
            yield
        elif trial.noise is not None:
            with rounding_noise(torch, trial.noise) as counter:
                yield
            self._busy[name] = counter.operations
        elif trial.precision is not None:
            before = torch.get_default_dtype()
            torch.set_default_dtype(getattr(torch, trial.precision))
            try:
                yield
            finally:
                torch.set_default_dtype(before)
        else:
            yield

    def _file(self, case: str, trial: str) -> Path:
        return self.output / case / f"{trial}.safetensors"


def _change(trial: Trial) -> Change:
    """What the trial does to each floating array that goes in."""
    import numpy as np

    generator = np.random.default_rng(trial.noise)

    def change(array: Any) -> Any:
        if not isinstance(array, np.ndarray):
            return array.to(getattr(sys.modules["torch"], trial.precision)) if trial.precision else array
        if trial.precision:
            array = array.astype(trial.precision)
        if trial.columns:
            array = np.asfortranarray(array)
        return disturb(array, generator) if trial.noise is not None else array

    return change


def _differences(trial: Trial, gold: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Per leaf how far this trial's numbers are from gold's; of a float64 trial its own numbers."""
    import numpy as np

    if list(gold) != list(found):
        raise ValueError("it records other things then")
    result = {}
    for path, leaf in found.items():
        one, two = numbers_of(gold[path]), numbers_of(leaf)
        if one.shape != two.shape:
            raise ValueError(f"{path} then has shape {two.shape}, not {one.shape}")
        if trial.precision == "float64":
            result[path] = two
        else:
            with np.errstate(invalid="ignore"):
                result[path] = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, two - one)
    return result

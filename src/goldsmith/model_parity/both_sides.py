"""Run both sides of a parity alike, in their own dtype and in float64; the candidate's values get the reference's
names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.judge.traces import distance as tensor_distance
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict
from goldsmith.model_parity.noise import MORE, QUICK, Measured, measure_noise, rounded_values
from goldsmith.model_parity.output_pairs import (
    CannotPairOutputs,
    OutputPairs,
    pair_outputs,
    spell_as_argument,
    spell_as_options,
)
from goldsmith.process.messages import Failure
from goldsmith.process.sides import FLOAT64, INPUT_GRADIENTS, OUTPUT, OWN, Described, OwnInputs, Ran, RunAsk, Side

_COARSENESS = ("float64", "float32", "float16", "bfloat16")


class ParityAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be compared, and how."""

    reference: str = "the reference"
    candidate: str = "the candidate"
    weights: bool = True
    gradients: bool = True
    train: bool = False
    steps: int = 0
    rtol: float | None = None
    atol: float | None = None
    trials: int = QUICK
    outputs: dict[str, str] = {}
    dtype: str = ""
    on_command_line: bool = False


class Inconclusive(Exception):
    """Nothing can be said, for the `kind` of reason that the message gives."""

    def __init__(self, kind: str, reason: str, failure: Failure | None = None, lines: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.kind, self.failure, self.lines = kind, failure, tuple(lines)


@dataclass
class Runs:
    """The runs of both sides on one set of inputs, the candidate's values under the reference's names."""

    mine: Ran
    theirs: Ran
    wide: tuple[Ran, Ran] | None = None
    why_not: str = ""


@dataclass
class BothSides:
    """The two sides, what is asked of them, and what is known of how they correspond."""

    reference: Side
    candidate: Side
    ask: ParityAsk
    notes: list[str] = field(default_factory=list)
    described: tuple[Described, Described] = (Described(name=""), Described(name=""))
    pairs: OutputPairs = field(default_factory=OutputPairs)
    own_inputs: OwnInputs | None = None
    """The candidate's inputs, if it takes others than the reference."""

    def is_shared_input(self, number: int, name: str) -> bool:
        """Say whether the candidate takes an input of the reference's, in a set of inputs."""
        return self.own_inputs is None or name in self.own_inputs.same[number].values()

    def run(self, side: Side, name: str, ask: RunAsk) -> Ran:
        ran = side.run(ask)
        failure = ran.facts.failure
        if failure is not None:
            kind = failure.kind if failure.kind in ("memory", "exit") else "inputs"
            words = {"memory": "runs out of memory", "exit": "ends the process"}.get(
                kind, "cannot be run on the inputs"
            )
            step = "; use smaller inputs, or another device" if kind == "memory" else ""
            raise Inconclusive(kind, f"the {name} {words}: {failure.message}{step}", failure)
        return ran

    def distance(self) -> float:
        """Return how far apart the outputs for the first inputs are."""
        runs = [side.run(RunAsk(precision=FLOAT64, train=self.ask.train)) for side in (self.reference, self.candidate)]
        if any(item.facts.failure for item in runs):
            asks = (RunAsk(train=self.ask.train), self.their(RunAsk(train=self.ask.train)))
            runs = [self.reference.run(asks[0]), self.candidate.run(asks[1])]
        if any(item.facts.failure for item in runs):
            return float("inf")
        try:
            pairs = self.pair_outputs(*runs)
        except CannotPairOutputs:
            return 0.0  # told later, and no arrangement of weights changes it
        return farthest_output(runs[0].values, renamed(runs[1].values, pairs.paths), pairs.paths)

    def pair_outputs(self, mine: Ran, theirs: Ran) -> OutputPairs:
        spell = spell_as_options if self.ask.on_command_line else spell_as_argument
        return pair_outputs(mine, theirs, self.ask.outputs, spell)

    def both(self, ask: RunAsk, *, traced: bool) -> Runs:
        mine, theirs = self.reference.run(ask), self._candidate_run(self.their(ask))
        wide = msgspec.structs.replace(ask, precision=FLOAT64, traced=traced)
        exact = self.reference.run(wide), self._candidate_run(self.their(wide))
        why_not = ""
        runs = (self.reference.run, wide), (self._candidate_run, self.their(wide))
        for ran, side, (run, asked) in zip(exact, ("reference", "candidate"), runs, strict=True):
            if ran.facts.failure is not None:
                why_not = f"the {side} does not run in float64 ({ran.facts.failure.message.splitlines()[0][:80]})"
            elif not ran.facts.pure:
                why_not = f"the {side} computes in a smaller dtype inside a run in float64"
            elif rounded := rounded_values(run, asked, ran):
                why_not = f"{rounded[0]} of the {side} is rounded to {rounded[1]} in a run in float64, too"
        if why_not:
            self.notes.append(f"{why_not}, so both were judged in their own dtype alone")
            own = msgspec.structs.replace(ask, traced=traced)
            mine, theirs = self.reference.run(own), self._candidate_run(self.their(own))
            return Runs(mine, theirs, None, why_not)
        return Runs(mine, theirs, exact)

    def _candidate_run(self, ask: RunAsk) -> Ran:
        """Run the candidate and name its outputs as the reference's; without gradients where it has none."""
        ran = self.candidate.run(ask)
        if ran.facts.failure is not None and ask.gradients:
            plain = self.candidate.run(msgspec.structs.replace(ask, gradients=False))
            if plain.facts.failure is None:
                facts = msgspec.structs.replace(plain.facts, cut_off=f"its backward fails: {ran.facts.failure.message}")
                ran = Ran(facts, plain.values, plain.trace)
        values, facts = renamed(ran.values, self.pairs.paths), ran.facts
        if self.own_inputs is not None:
            same = self.own_inputs.same[ask.inputs]
            values = with_input_names(values, same)
            overwrote = (same.get(name, f"{name} (its own)") for name in facts.overwrote)
            facts = msgspec.structs.replace(facts, overwrote=tuple(overwrote))
        return Ran(facts, values, ran.trace)

    def their(self, ask: RunAsk) -> RunAsk:
        """Return the request as the candidate gets it: under its names, and inputs in its dtype if that is another."""
        paths = tuple(self.pairs.paths[path] for path in ask.outputs)
        other = self.described[1].dtype if self.mixed and ask.precision == OWN else ask.inputs_as
        return msgspec.structs.replace(ask, outputs=paths, inputs_as=other)

    @property
    def tolerance_given(self) -> bool:
        return self.ask.rtol is not None or self.ask.atol is not None

    @property
    def mixed(self) -> bool:
        """Return whether the two models are of different dtypes."""
        mine, theirs = (item.dtype for item in self.described)
        return bool(mine and theirs and mine != theirs and not self.ask.dtype)

    @property
    def _coarser(self) -> str:
        """Return the candidate's dtype if it has fewer digits than the reference's."""
        mine, theirs = (item.dtype for item in self.described)
        return theirs if self.mixed and _COARSENESS.index(theirs) > _COARSENESS.index(mine) else ""

    def measure(self, ask: RunAsk, runs: Runs, told: Callable[[str], None], *, more: bool = False) -> Measured:
        """Measure the reference's noise; with `more`, by as many trials as the closest decision takes."""
        if self.tolerance_given:
            return Measured()
        many = {"wide_trials": MORE} if more else {}
        traced = msgspec.structs.replace(ask, traced=runs.wide is not None or runs.mine.trace is not None)
        return measure_noise(
            self.reference,
            traced,
            runs.mine,
            runs.wide[0] if runs.wide else None,
            trials=max(self.ask.trials, MORE) if more else self.ask.trials,
            coarser=self._coarser,
            on_run=lambda: told("measuring the reference's noise"),
            **many,
        )

    def with_overwriting(self, verdict: CaseVerdict, runs: Runs) -> CaseVerdict:
        """Judge a candidate that changes its inputs where the reference does not."""
        more = [name for name in runs.theirs.facts.overwrote if name not in runs.mine.facts.overwrote]
        for name in runs.mine.facts.overwrote:
            self.notes.append(f"the reference changes its input {name} in place")
        if not more or verdict.outcome != AGREES:
            return verdict
        reason = f"the candidate changes its input {', '.join(more)} in place, and the reference does not"
        return msgspec.structs.replace(verdict, outcome=DIFFERS, kind="overwrites", reason=reason)


def renamed(values: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Return the candidate's values with outputs under the reference's names, and no other outputs."""
    if not paths:
        return dict(values)
    found = {mine: values[theirs] for mine, theirs in paths.items() if theirs in values}
    return found | {path: value for path, value in values.items() if path.partition(".")[0] != OUTPUT}


def with_input_names(values: Mapping[str, Any], same: Mapping[str, str]) -> dict[str, Any]:
    """Return the candidate's values with gradients of inputs under the reference's names, where both take the same."""
    split = {path: path.partition(".") for path in values}
    return {
        f"{section}.{same[name]}" if section == INPUT_GRADIENTS else path: values[path]
        for path, (section, _, name) in split.items()
        if section != INPUT_GRADIENTS or name in same
    }


def farthest_output(mine: Mapping[str, Any], theirs: Mapping[str, Any], paths: Mapping[str, str]) -> float:
    found = 0.0
    for path in paths:
        if path not in theirs:
            return float("inf")
        if is_inexact(mine[path]):
            found = max(found, tensor_distance(numbers_of(theirs[path]), numbers_of(mine[path])))
    return found


def is_inexact(value: Any) -> bool:
    if isinstance(value, float | Bfloat16):
        return True
    return is_array(value) and str(value.dtype).removeprefix("torch.").startswith(("float", "bfloat", "complex"))


def is_all_nan(value: Any) -> bool:
    import numpy as np

    if not is_inexact(value):
        return False
    numbers = numbers_of(value)
    return bool(numbers.size) and bool(np.isnan(numbers).all())

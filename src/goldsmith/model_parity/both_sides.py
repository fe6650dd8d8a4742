"""Run both sides of a parity alike, in their own dtype and in float64; the candidate's values get the reference's
names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.gold.arrays import numbers_of
from goldsmith.judge.follows_dtype import inner_dtypes, nudges, rounds_inside
from goldsmith.judge.traces import distance as tensor_distance
from goldsmith.model_parity.judge import is_inexact
from goldsmith.model_parity.noise import MORE, QUICK, Measured, measure_noise, rounded_values
from goldsmith.model_parity.output_pairs import (
    CannotPairOutputs,
    OutputPairs,
    pair_outputs,
    spell_as_argument,
    spell_as_options,
)
from goldsmith.runs.conditions import OWN, WIDE, Conditions
from goldsmith.runs.implementation import INPUT_GRADIENTS, OUTPUT, Described, Implementation, OwnInputs
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Failure, Run

_COARSENESS = ("float64", "float32", "float16", "bfloat16")


class ParityRequest(msgspec.Struct, frozen=True, kw_only=True):
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
    kernel: bool = False
    compiled: bool = False
    notes: tuple[str, ...] = ()
    on_command_line: bool = False

    @property
    def tolerance_given(self) -> bool:
        return self.rtol is not None or self.atol is not None


class Inconclusive(Exception):
    """Nothing can be said, for the `kind` of reason that the message gives."""

    def __init__(self, kind: str, reason: str, failure: Failure | None = None, lines: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.kind, self.failure, self.lines = kind, failure, tuple(lines)


@dataclass
class Runs:
    """The runs of both sides on one set of inputs, the candidate's values under the reference's names."""

    mine: Run
    theirs: Run
    wide: tuple[Run, Run] | None = None
    why_not: str = ""


@dataclass
class BothSides:
    """The two sides, what is asked of them, and what is known of how they correspond."""

    reference: Implementation
    candidate: Implementation
    request: ParityRequest
    notes: list[str] = field(default_factory=list)
    described: tuple[Described, Described] = (Described(name=""), Described(name=""))
    pairs: OutputPairs = field(default_factory=OutputPairs)
    own_inputs: OwnInputs | None = None
    """The candidate's inputs, if it takes others than the reference."""
    inputs_as: str = ""
    """The dtype that the reference takes inputs in, if they were drawn in another."""

    def plain(self, case: int = 0) -> RunRequest:
        """Return a request for a run on a set of inputs, in the mode that was asked for."""
        return RunRequest(case=str(case), conditions=Conditions(train=self.request.train, inputs_as=self.inputs_as))

    def fit_inputs(self) -> None:
        """Have a reference that does not run on the inputs as they are drawn get them in its own dtype."""
        own = self.described[0].dtype
        if not self.mixed or self.reference.run(self.plain()).facts.failure is None:
            return
        if self.reference.run(self.plain().under(inputs_as=own)).facts.failure is None:
            self.inputs_as = own
            self.notes.append(f"the reference, which is {own}, was given its inputs in {own}")

    def is_shared_input(self, number: int, name: str) -> bool:
        """Say whether the candidate takes an input of the reference's, in a set of inputs."""
        return self.own_inputs is None or name in self.own_inputs.same[number].values()

    def run(self, side: Implementation, name: str, request: RunRequest) -> Run:
        ran = side.run(request)
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
        wide = self.plain().under(precision=WIDE)
        runs = [side.run(wide) for side in (self.reference, self.candidate)]
        if any(item.facts.failure for item in runs):
            runs = [self.reference.run(self.plain()), self.candidate.run(self.their(self.plain()))]
        if any(item.facts.failure for item in runs):
            return float("inf")
        try:
            pairs = self.pair_outputs(*runs)
        except CannotPairOutputs:
            return 0.0  # told later, and no arrangement of weights changes it
        return farthest_output(runs[0].values, renamed(runs[1].values, pairs.paths), pairs.paths)

    def pair_outputs(self, mine: Run, theirs: Run) -> OutputPairs:
        spell = spell_as_options if self.request.on_command_line else spell_as_argument
        return pair_outputs(mine, theirs, self.request.outputs, spell)

    def both(self, request: RunRequest, *, traced: bool) -> Runs:
        mine, theirs = self.reference.run(request), self.candidate_run(self.their(request))
        wide = request.under(precision=WIDE, traced=traced)
        exact = self.reference.run(wide), self.candidate_run(self.their(wide))
        why_not = ""
        runs = (self.reference.run, wide), (self.candidate_run, self.their(wide))
        for ran, side, (run, asked) in zip(exact, ("reference", "candidate"), runs, strict=True):
            if ran.facts.failure is not None:
                why_not = f"the {side} does not run in float64 ({ran.facts.failure.message.splitlines()[0][:80]})"
            elif not ran.facts.pure:
                why_not = f"the {side} computes in a smaller dtype inside a run in float64"
            elif rounded := rounded_values(run, asked, ran):
                why_not = f"{rounded[0]} of the {side} is rounded to {rounded[1]} in a run in float64, too"
        return self.in_own_dtype(request, why_not, traced=traced) if why_not else Runs(mine, theirs, exact)

    def in_own_dtype(self, request: RunRequest, why: str, *, traced: bool) -> Runs:
        """Run both in their own dtype alone, and say why."""
        self.notes.append(f"{why}, so both were judged in their own dtype alone")
        own = request.under(traced=traced)
        return Runs(self.reference.run(own), self.candidate_run(self.their(own)), None, why)

    def rounded_inside(self, request: RunRequest, runs: Runs, measured: Measured, dtype: str) -> str:
        """Return the dtype that the candidate, whose own `dtype` this is, rounds to inside whatever it is given, if
        nothing but that is wrong with its values in float64; else ""."""
        if runs.wide is None:
            return ""
        theirs = self.their(request.under(precision=WIDE, traced=False))
        mine, plain = (item.values for item in runs.wide)
        reference = {path: numbers_of(value) for path, value in mine.items() if is_inexact(value)}
        sharp, own = measured.wide, runs.mine.values
        for inner in inner_dtypes(dtype):
            fine, coarse = (self.candidate_run(theirs.under(unit=item.unit)).values for item in nudges(inner))
            if rounds_inside(dtype, inner, (plain, fine, coarse), reference, sharp.tolerances, own, sharp.noisy):
                return inner
        return ""

    def candidate_run(self, request: RunRequest) -> Run:
        """Run the candidate and name its outputs as the reference's; without gradients where it has none."""
        ran = self.candidate.run(request)
        if ran.facts.failure is not None and request.conditions.gradients:
            plain = self.candidate.run(request.under(gradients=False))
            if plain.facts.failure is None:
                facts = msgspec.structs.replace(plain.facts, cut_off=f"its backward fails: {ran.facts.failure.message}")
                ran = Run(facts, plain.values, plain.trace)
        values, facts = renamed(ran.values, self.pairs.paths), ran.facts
        if self.own_inputs is not None:
            same = self.own_inputs.same[int(request.case)]
            values = with_input_names(values, same)
            overwrote = (same.get(name, f"{name} (its own)") for name in facts.overwrote)
            facts = msgspec.structs.replace(facts, overwrote=tuple(overwrote))
        return Run(facts, values, ran.trace)

    def their(self, request: RunRequest) -> RunRequest:
        """Return the request as the candidate gets it: under its names, and inputs in its dtype if that is another."""
        paths = tuple(self.pairs.paths[path] for path in request.conditions.outputs)
        other = (
            self.described[1].dtype
            if self.mixed and request.conditions.precision == OWN
            else request.conditions.inputs_as
        )
        return request.under(outputs=paths, inputs_as=other)

    @property
    def mixed(self) -> bool:
        """Return whether the two models are of different dtypes."""
        mine, theirs = (item.dtype for item in self.described)
        return bool(mine and theirs and mine != theirs and not self.request.dtype)

    @property
    def _coarser(self) -> str:
        """Return the candidate's dtype if it has fewer digits than the reference's."""
        mine, theirs = (item.dtype for item in self.described)
        return theirs if self.mixed and _COARSENESS.index(theirs) > _COARSENESS.index(mine) else ""

    def measure(self, request: RunRequest, runs: Runs, told: Callable[[str], None], *, more: bool = False) -> Measured:
        """Measure the reference's noise; with `more`, by as many trials as the closest decision takes."""
        if self.request.tolerance_given:
            return Measured()
        many = {"wide_trials": MORE} if more else {}
        traced = request.under(traced=runs.wide is not None or runs.mine.trace is not None)
        return measure_noise(
            self.reference,
            traced,
            runs.mine,
            runs.wide[0] if runs.wide else None,
            trials=max(self.request.trials, MORE) if more else self.request.trials,
            coarser=self._coarser,
            on_run=lambda: told("measuring the reference's noise"),
            **many,
        )


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

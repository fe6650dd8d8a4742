"""Parity of two large models: both run in step, and their modules are judged by distances alone.

Every module of the candidate is given the reference's values, so that each is judged by itself: if all are right, so is
the whole. Where one is farther off than a few roundings explain, a further pass measures the noise of the reference.
Where one is wrong, a last pass runs both as they are, and shows which modules only pass the error on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldsmith.errors.parity import NotCallable
from goldsmith.foundation.wording import some_of
from goldsmith.frameworks.framework import conditions, is_module, models_of, without_gradients
from goldsmith.frameworks.protocols import Models
from goldsmith.frameworks.randomness import random_state_kept
from goldsmith.gold.arrays import dtype_name, is_tensor
from goldsmith.gold.tolerances import SAFETY
from goldsmith.judge.module_names import module_names
from goldsmith.judge.policy import IN_STEP, IN_STEP_ALONE
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict
from goldsmith.model_parity.carry_weights import turned_matrices, unplaced_words
from goldsmith.model_parity.result import (
    LIKELY,
    PROVEN,
    SEEN,
    SOURCE,
    UNPAIRED,
    VICTIM,
    CarriedWeights,
    FirstWrong,
    ModuleParity,
    ParityReport,
    WeightGuessReport,
)
from goldsmith.model_parity.weight_words import guess_notes
from goldsmith.model_parity.words import arrangement
from goldsmith.runs.implementation import Described, Loaded, LoadRequest
from goldsmith.runs.live.arrangements import arranged_weights
from goldsmith.runs.live.guessed_places import with_guesses
from goldsmith.runs.live.in_step import INPUTS, InStep, Moment, StepDistance, run_in_step
from goldsmith.runs.live.model_facts import places_of, settings_of
from goldsmith.runs.live.returned_values import InputSet, copied, input_sets
from goldsmith.weights.guesses import WeightGuess, guess_places
from goldsmith.weights.held_numbers import pairs_by_numbers
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace, Transplant, plan

_NOISE_SEED = 1
_GUESSES = 2
"""Guesses that are tried: each takes a pass of both models."""
_LISTED = 4


@dataclass(frozen=True)
class _Plan:
    """A way to place the weights, with matrices of the candidate's that are `turned`, and the guess that it comes from,
    if any."""

    found: Transplant
    turned: Sequence[str] = ()
    guess: WeightGuess | None = None

    @property
    def placed(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        return tuple((item.gold, item.theirs) for item in self.found.placed)

    @property
    def words(self) -> set[tuple[Any, ...]]:
        """Return what tells one way from another."""
        return {(item.gold, item.theirs, item.rule.transpose, item.mine, item.other) for item in self.found.placed}


@dataclass
class _Trial:
    """Both models in step, with weights placed in one way: which moments are wrong by themselves."""

    plan: _Plan
    pairs: Mapping[str, str]
    forced: InStep
    wrong: list[Moment]
    excused: list[StepDistance]

    @property
    def is_wrong(self) -> bool:
        return bool(self.wrong) or any(moment.module == "" for moment in self.forced.missed)


def compare_in_step(
    reference: Any,
    candidate: Any,
    inputs: Any,
    *,
    weights: bool,
    adapter: Adapter,
    rtol: float | None,
    seed: int,
) -> ParityReport:
    """Compare two torch modules. With `weights`, the candidate uses the reference's tensors meanwhile; only those that
    have another form in it are copied. Where the two differ then, other ways to place them are tried."""
    for side, model in (("reference", reference), ("candidate", candidate)):
        if not is_module(model):
            raise NotCallable(side, f"a {type(model).__name__}, which has no modules to run in step")
    started = time.monotonic()
    mine, theirs = (dict(model.named_parameters()) for model in (reference, candidate))
    described = _described(reference), _described(candidate)
    if not weights:
        adapter = with_guesses(adapter, LoadRequest(), pairs_by_numbers(mine, theirs))
    try:
        plans = _plans(described, adapter, settings_of(candidate))
    except CannotPlace as problem:
        reasons = tuple(reason.replace("gold", "the reference") for reason in problem.reasons)
        return ParityReport(
            name="",
            reference="",
            outcome=COULD_NOT_RUN,
            kind="weights",
            reason=unplaced_words(
                problem.unplaced, problem.free, [*reasons, *_modules_of(problem, described)], described
            ),
            weights=CarriedWeights(unplaced=problem.unplaced, free=problem.free),
        )
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    limit, alone = (rtol if rtol is not None else table[_dtype(mine, theirs)] for table in (IN_STEP, IN_STEP_ALONE))
    with contextlib.ExitStack() as stack:
        stack.enter_context(random_state_kept(seed))
        given, *others = input_sets(inputs)
        stack.enter_context(_evaluating(reference, candidate))

        def run(plan: _Plan, *, forced: bool) -> InStep:
            exchanged = _exchanged(plan.found, mine, theirs) if weights else contextlib.nullcontext()
            with without_gradients(), exchanged:
                calls = _call(reference, given), _call(candidate, given)
                found = run_in_step(*calls, modules, module_names(plan.placed, *modules), forced=forced)
            found.outputs = None, None  # a model's logits can take as much memory as several of its layers
            return found

        def judge(plan: _Plan) -> _Trial:
            pairs, forced = module_names(plan.placed, *modules), run(plan, forced=True)
            certain = next((number for number, item in enumerate(forced.distances) if not item.relative <= limit), None)
            doubtful = [item for item in forced.distances[:certain] if item.relative > alone]
            noise = _noise(reference, given, pairs, {item.moment for item in doubtful}) if doubtful else {}
            wrong = [
                item.moment
                for item in forced.distances
                if not item.relative <= max(alone, min(limit, SAFETY * noise.get(item.moment, 0.0)))
            ]
            return _Trial(plan, pairs, forced, wrong, [item for item in doubtful if item.moment not in wrong])

        trials = []
        for plan in plans:
            trials.append(judge(plan))
            if not trials[-1].is_wrong:
                break
        best = min(trials, key=lambda trial: (trial.is_wrong, len(trial.wrong)))
        plain = run(best.plan, forced=False) if best.is_wrong else InStep()
    notes = ["only the first set of inputs was run"] if others else []
    if best.excused:
        farthest = max(best.excused, key=lambda item: item.relative)
        notes.append(
            f"up to {farthest.relative:.1e} off ({farthest.moment.module or 'the model'}), within {SAFETY:g} x the "
            "reference's own noise"
        )
    called = {item.moment.module for item in best.forced.distances}  # containers never are
    source = _source(best.wrong, called) if best.is_wrong else None
    judged = tuple(_modules(plain, best.forced, best.pairs, modules, source, limit))
    kind = type(modules[1][best.pairs[source]]).__name__ if source is not None else ""
    outcome = DIFFERS if best.is_wrong else AGREES
    row = next((item for item in judged if item.name == source), None)
    reason = "" if row is None else f"{row.label}: {row.why or 'wrong by itself, given the right inputs'}"
    case = CaseVerdict(name="forward pass", title="", outcome=outcome, judged_in=_dtype(mine, theirs), reason=reason)
    carried = CarriedWeights(placed=best.plan.placed, guess=_guess_report(best) if weights else None)
    return ParityReport(
        name="",
        reference="",
        outcome=outcome,
        reason=reason,
        first_divergence=source or (type(reference).__name__ if source == "" else ""),
        first_name=(best.pairs[source] or kind) if source is not None else "",
        first_kind=kind,
        first_how="" if source is None else SEEN,
        first=None if row is None else _first(row, kind, candidate),
        cases=(case,),
        modules=judged,
        weights=carried,
        condition="" if best.is_wrong or not weights else _condition(best.plan, mine, adapter),
        notes=(*guess_notes(carried), *notes),
        seconds=round(time.monotonic() - started, 3),
    )


def _described(model: Any) -> Described:
    return Described(
        name=type(model).__name__,
        is_module=True,
        weights=_shapes(dict(model.named_parameters())),
        kinds=_models(model).kinds(model),
        modules={name: type(item).__name__ for name, item in model.named_modules()},
    )


def _plans(described: tuple[Described, Described], adapter: Adapter, settings: Mapping[str, Any]) -> list[_Plan]:
    """Return ways to place all weights: as names, rules and shapes say, with matrices the other way round, and guesses.
    Raise CannotPlace if there is none."""
    mine, theirs = described
    found: list[_Plan] = []
    first: CannotPlace | None = None
    guesses = [guess for guess in guess_places(mine, theirs)[:_GUESSES] if not guess.missing]
    ways: list[tuple[Sequence[str], WeightGuess | None]] = [((), None)]
    ways += [(turned, None) for turned in (turned_matrices(mine, theirs),) if turned]
    ways += [((), guess) for guess in guesses]
    for turned, guess in ways:
        rules = adapter if guess is None else with_guesses(adapter, LoadRequest(guessed=guess.rules))
        try:
            placed = plan(mine.weights, theirs.weights, rules, "", settings, turned=turned)
        except CannotPlace as problem:
            first = first or problem
            continue
        made = _Plan(placed, turned, guess)
        if all(made.words != other.words for other in found):
            found.append(made)
    if not found:
        assert first is not None
        raise first
    return found


def _modules_of(problem: CannotPlace, described: tuple[Described, Described]) -> list[str]:
    """Say which modules the weights that do not fit belong to."""
    found = []
    for side, weights, item in zip(
        ("reference", "candidate"), (problem.unplaced, problem.free), described, strict=True
    ):
        names = dict.fromkeys(name.rpartition(".")[0] for name in weights)
        listed = [f"{name} ({item.modules[name]})" if name else item.name for name in names if name in item.modules]
        if listed:
            found.append(f"They belong to {some_of(listed, _LISTED)} of the {side}")
    return found


def _guess_report(trial: _Trial) -> WeightGuessReport | None:
    placed = [name for mine, _ in trial.plan.placed for name in mine]
    pairs = trial.plan.guess.other_names(placed) if trial.plan.guess else []
    if not pairs:
        return None
    words, why = (
        tuple(dict.fromkeys(found)) for found in zip(*((pair.words, pair.why) for pair in pairs), strict=True)
    )
    return WeightGuessReport(sure=LIKELY if trial.is_wrong else PROVEN, by=why, pairs=words)


def _condition(made: _Plan, mine: Mapping[str, Any], adapter: Adapter) -> str:
    """Say which matrices must be stored the other way round for the two to agree, where nothing else shows it."""
    arranged = arranged_weights(made.found.placed, mine, LoadRequest(turned=tuple(made.turned)), adapter)
    return arrangement(Loaded(arranged=tuple(arranged)))


def _first(row: ModuleParity, kind: str, candidate: Any) -> FirstWrong:
    off = row.relative_alone
    return FirstWrong(
        name=row.theirs or row.name,
        kind=kind,
        how=SEEN,
        place=places_of(candidate).get(kind, ""),
        relative=None if off is None or off == float("inf") else float(f"{off:.3g}"),
        where=row.why,
    )


def _models(model: Any) -> Models:
    found = models_of(model)
    assert found is not None
    return found


def _noise(
    reference: Any, given: InputSet, pairs: Mapping[str, str], wanted: Collection[Moment]
) -> dict[Moment, float]:
    """Return how far the reference's own tensors move at these moments with rounding noise in every operation, if all
    that came before is right. It runs in step with itself, so only a few tensors are kept."""
    modules = dict(reference.named_modules())

    def disturbed() -> Any:
        with conditions(noise=_NOISE_SEED):
            return call()

    with without_gradients():
        call = _call(reference, given)
        same = {name: name for name in pairs}
        found = run_in_step(_call(reference, given), disturbed, (modules, modules), same, forced=True, wanted=wanted)
    return {item.moment: item.relative for item in found.distances if item.relative < float("inf")}


def _source(wrong: Sequence[Moment], called: Collection[str]) -> str:
    """Return the module at which the difference begins: the first whose outputs are wrong by themselves, or that gives
    a module inside it wrong inputs; the model itself if it never returns as the reference does."""
    first = wrong[0] if wrong else None
    if first is None or not first.module:
        return ""
    return _around(first.module, called) if first.what == INPUTS else first.module


def _around(module: str, called: Collection[str]) -> str:
    """Return the nearest of the modules that were called that contains another."""
    above = module.rpartition(".")[0]
    while above and above not in called:
        above = above.rpartition(".")[0]
    return above


def _modules(
    plain: InStep,
    forced: InStep,
    pairs: Mapping[str, str],
    modules: tuple[Mapping[str, Any], Mapping[str, Any]],
    source: str | None,
    limit: float,
) -> Iterator[ModuleParity]:
    in_place, alone = _by_module(plain), _by_module(forced)
    problems = {item.moment.module: item.problem for item in forced.distances if item.problem}
    for name, module in modules[0].items():
        distance = in_place.get(name)
        role = UNPAIRED if name not in pairs else SOURCE if name == source else ""
        if not role and distance is not None and distance > limit:
            role = VICTIM
        yield ModuleParity(
            name=name,
            kind=type(module).__name__,
            theirs=pairs.get(name, ""),
            their_kind=type(modules[1][pairs[name]]).__name__ if name in pairs else "",
            role=role,
            relative=distance,
            relative_alone=alone.get(name),
            why=problems.get(name, ""),
        )


def _by_module(found: InStep) -> dict[str, float]:
    """Return how far each module's outputs are off, of all its calls the farthest."""
    distances: dict[str, float] = {}
    for item in found.distances:
        moment: Moment = item.moment
        if moment.what != INPUTS:
            distances[moment.module] = max(distances.get(moment.module, 0.0), item.relative)
    return distances


def _shapes(weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(item.shape) for name, item in weights.items()}


def _dtype(*sides: Mapping[str, Any]) -> str:
    """Return the coarsest dtype of the weights."""
    known = [dtype_name(item) for weights in sides for item in weights.values() if dtype_name(item) in IN_STEP]
    return max(known, key=lambda name: IN_STEP[name], default="float32")


def _call(model: Any, given: InputSet) -> Callable[[], Any]:
    """Return a call of the model with copies of the inputs, on its device."""
    device = next((item.device for item in model.parameters()), None)

    def fresh(array: Any) -> Any:
        return array.detach().to(device=device, copy=True) if is_tensor(array) else array.copy()

    args, kwargs = copied(given.args, fresh), copied(given.kwargs, fresh)
    return lambda: model(*args, **kwargs)


@contextlib.contextmanager
def _exchanged(found: Transplant, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[None]:
    """Let the candidate's parameters hold the reference's numbers, without a copy where they have the same form."""
    before = {name: item.data for name, item in theirs.items()}
    try:
        for item in found.placed:
            values = item.carry([mine[name].data for name in item.gold])
            for name, value in zip(item.theirs, values, strict=True):
                theirs[name].data = value.to(before[name])
        yield
    finally:
        for name, data in before.items():
            theirs[name].data = data


@contextlib.contextmanager
def _evaluating(*models: Any) -> Iterator[None]:
    """Put models into evaluation mode, and every module back into its own."""
    modes = [(module, module.training) for model in models for module in model.modules()]
    try:
        for model in models:
            model.eval()
        yield
    finally:
        for module, training in modes:
            module.training = training

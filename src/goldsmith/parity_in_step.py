"""Parity of two large models: both run in step, and their modules are judged by distances alone.

Every module of the candidate is given the reference's values, so that each is judged by itself: if all are right, so is
the whole. Where one is farther off than a few roundings explain, a further pass measures the noise of the reference.
Where one is wrong, a last pass runs both as they are, and shows which modules only pass the error on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from goldsmith.check.module_names import module_names
from goldsmith.check.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict
from goldsmith.errors.parity import NotCallable
from goldsmith.gold.arrays import dtype_name, is_tensor
from goldsmith.gold.calibration import SAFETY
from goldsmith.instruments.rounding_noise import rounding_noise
from goldsmith.model_parity.result import SEEN, SOURCE, UNPAIRED, VICTIM, CarriedWeights, ModuleParity, ParityReport
from goldsmith.weights.models import is_module
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace, Transplant, plan
from goldsmith.worker.in_step import INPUTS, InStep, Moment, run_in_step
from goldsmith.worker.live.returned_values import InputSet, copied, input_sets
from goldsmith.worker.live.working_model import random_state_kept

IN_PLACE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Distance, relative to the reference, from which a module that is right by itself passes an error on, by dtype."""
ALONE = {"float64": 1e-11, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.5e-2}
"""Distance up to which a module that was given the reference's values agrees without further question: a few units in
the last place of its dtype. Up to the distance above, it depends on the reference's noise."""
_NOISE_SEED = 1


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
    have another form in it are copied."""
    for side, model in (("reference", reference), ("candidate", candidate)):
        if not is_module(model):
            raise NotCallable(side, f"a {type(model).__name__}, which has no modules to run in step")
    started = time.monotonic()
    mine, theirs = (dict(model.named_parameters()) for model in (reference, candidate))
    try:
        found = plan(_shapes(mine), _shapes(theirs), adapter, "", {})
    except CannotPlace as problem:
        return ParityReport(
            name="",
            reference="",
            outcome=COULD_NOT_RUN,
            kind="weights",
            reason="weights of the reference have no place in the candidate",
            weights=CarriedWeights(unplaced=problem.unplaced, free=problem.free),
        )
    placed = tuple((item.gold, item.theirs) for item in found.placed)
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    pairs = module_names(placed, modules[0], modules[1])
    with contextlib.ExitStack() as stack:
        stack.enter_context(random_state_kept(seed))
        given, *others = input_sets(inputs)
        if weights:
            stack.enter_context(_exchanged(found, mine, theirs))
        stack.enter_context(_evaluating(reference, candidate))

        def run(*, forced: bool) -> InStep:
            import torch

            with torch.no_grad():
                calls = _call(reference, given), _call(candidate, given)
                found = run_in_step(*calls, modules, pairs, forced=forced)
            found.outputs = None, None  # a model's logits can take as much memory as several of its layers
            return found

        limit, alone = (rtol if rtol is not None else table[_dtype(mine, theirs)] for table in (IN_PLACE, ALONE))
        forced = run(forced=True)
        certain = next((number for number, item in enumerate(forced.distances) if not item.relative <= limit), None)
        doubtful = [item for item in forced.distances[:certain] if item.relative > alone]
        noise = _noise(reference, given, pairs, {item.moment for item in doubtful}) if doubtful else {}
        wrong = [
            item.moment
            for item in forced.distances
            if not item.relative <= max(alone, min(limit, SAFETY * noise.get(item.moment, 0.0)))
        ]
        is_wrong = bool(wrong) or any(moment.module == "" for moment in forced.missed)
        plain = run(forced=False) if is_wrong else InStep()
    notes = ["only the first set of inputs was run"] if others else []
    excused = [item for item in doubtful if item.moment not in wrong]
    if excused:
        farthest = max(excused, key=lambda item: item.relative)
        notes.append(
            f"up to {farthest.relative:.1e} off ({farthest.moment.module or 'the model'}), within {SAFETY:g} x the "
            "reference's own noise"
        )
    source = _source(wrong, pairs) if is_wrong else None
    judged = _modules(plain, forced, pairs, modules, source, limit)
    outcome = DIFFERS if is_wrong else AGREES
    kind = type(modules[1][pairs[source]]).__name__ if source is not None else ""
    return ParityReport(
        name="",
        reference="",
        outcome=outcome,
        first_divergence=source or (type(reference).__name__ if source == "" else ""),
        first_name=(pairs[source] or kind) if source is not None else "",
        first_kind=kind,
        first_how="" if source is None else SEEN,
        cases=(CaseVerdict(name="forward pass", title="", outcome=outcome, judged_in=_dtype(mine, theirs)),),
        modules=tuple(judged),
        weights=CarriedWeights(placed=placed),
        notes=tuple(notes),
        seconds=round(time.monotonic() - started, 3),
    )


def _noise(
    reference: Any, given: InputSet, pairs: Mapping[str, str], wanted: Collection[Moment]
) -> dict[Moment, float]:
    """Return how far the reference's own tensors move at these moments with rounding noise in every operation, if all
    that came before is right. It runs in step with itself, so only a few tensors are kept."""
    import torch

    modules = dict(reference.named_modules())

    def disturbed() -> Any:
        with rounding_noise(torch, _NOISE_SEED):
            return call()

    with torch.no_grad():
        call = _call(reference, given)
        same = {name: name for name in pairs}
        found = run_in_step(_call(reference, given), disturbed, (modules, modules), same, forced=True, wanted=wanted)
    return {item.moment: item.relative for item in found.distances if item.relative < float("inf")}


def _source(wrong: Sequence[Moment], pairs: Mapping[str, str]) -> str:
    """Return the module at which the difference begins: the first whose outputs are wrong by themselves, or that gives
    a module inside it wrong inputs; the model itself if it never returns as the reference does."""
    first = wrong[0] if wrong else None
    if first is None or not first.module:
        return ""
    return _around(first.module, pairs) if first.what == INPUTS else first.module


def _around(module: str, pairs: Mapping[str, str]) -> str:
    """Return the nearest paired module that contains another."""
    above = module.rpartition(".")[0]
    while above and above not in pairs:
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
    known = [dtype_name(item) for weights in sides for item in weights.values() if dtype_name(item) in IN_PLACE]
    return max(known, key=lambda name: IN_PLACE[name], default="float32")


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

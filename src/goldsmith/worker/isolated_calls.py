"""Run modules, methods and functions of a submission alone, on the arguments that gold's own were called with.

A module's inputs are the outputs of the modules before it, so they give away answers. Therefore modules run alone after
everything else, those of a case in the order in which they are entered, and each gets its inputs only then: by that
time, every answer that they could reveal has been requested and stored. Where two cases are alike, what one reveals
comes too late for its own answers, and a part counts as in the case where it did worst.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from goldsmith.frameworks.framework import arrays_of, modelling, models_of, storing, without_gradients
from goldsmith.gold.arrays import array_hash, dtype_name, is_array
from goldsmith.gold.call_forms import plain_values, rebuild, tensors_in
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import ReplayJob
from goldsmith.recipe.decorators import CaseDefinition, written_as
from goldsmith.recipe.missing_parts import MissingPartUsed
from goldsmith.runs.requests import IsolatedCall, RunRequest
from goldsmith.runs.run import Run, RunFacts
from goldsmith.weights.crossing import LoadedAcross, PartAcross, modules_of
from goldsmith.weights.loaded import LoadedModel
from goldsmith.worker.adapter_calls import adapt_calls
from goldsmith.worker.crossing_calls import as_recipe_has_it
from goldsmith.worker.failure_reasons import cause_of

if TYPE_CHECKING:
    from goldsmith.worker.replay_session import ReplayCase, ReplaySession

T = TypeVar("T")


def run_alone(session: ReplaySession, request: RunRequest, item: IsolatedCall, definition: CaseDefinition) -> Run:
    """Make one call three times: as it was made, with other values, and as it was made again.

    Results are stored by call number and position (`0.1`), plain values by their position among those, changes in the
    model by call number and gold's name (`0.after.mean`), and the classes of a module in place of the names of modules.
    """
    values: dict[str, Any] = {}
    try:
        target = _target(session, request, item, definition)
        if item.gradients:  # before a call has changed anything
            values |= {f"gradient.{name}": value for name, value in _gradients(target, item, session.device).items()}
        for number, change in enumerate((_as_given, _disturb, _as_given)):
            for name, value in _call(target, item, change, session.device).items():
                if is_array(value):
                    value = arrays_of(value).copy(value)
                values[f"{number}.{name}"] = value
        return Run(RunFacts(modules={item.model: target.classes}), values)
    except BaseException as error:
        return Run(RunFacts(failure=cause_of(error, session.job, request.case)))


@dataclass(frozen=True)
class _Target:
    """A callable, found in a model that it may change; `classes` are those of the module in it."""

    call_in: Callable[[Any], Callable[..., Any]]
    model: Any = None
    classes: tuple[str, ...] = ()
    settled: LoadedModel | None = None
    built: Mapping[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> Callable[..., Any]:
        return self.call_in(self.model if self.settled is None else self.settled.model)

    def put(self, state: Mapping[str, Any]) -> None:
        """Give the model the weights that it was built with, but for those in `state`, by gold's names."""
        if self.settled is not None:
            models = models_of(self.settled.model)
            assert models is not None
            self.settled.model = models.put(self.settled.model, self.built)
            models.clear_gradients(self.settled.model)
            self.settled.put(state)


def _target(session: ReplaySession, request: RunRequest, item: IsolatedCall, definition: CaseDefinition) -> _Target:
    """Return a function as the recipe has it, or a module as soon as its model is built and has gold's weights."""
    if not item.model:
        function = _function(item.function, definition, session.job)
        return _Target(lambda model: function)
    case = session.case_for(definition, request.conditions)
    stopping = _stop_at(case, item.model)
    try:
        definition.function(stopping)
    except _Reached as reached:
        model, settled = reached.model, case.settled(item.model)
        models = models_of(model)
        module = modules_of(model)[item.module] if item.module else model
        classes = tuple(kind.__name__ for kind in type(module).__mro__)
        if item.function and not hasattr(module, item.function):
            raise MissingPartUsed(f"{type(module).__name__}.{item.function}", None) from None
        built = {}
        if settled is not None and models is not None:
            settled.model = model
            built = {name: arrays_of(value).copy(value) for name, value in models.weights(model).items()}

        def call_in(model: Any) -> Callable[..., Any]:
            module = modules_of(model)[item.module] if item.module else model
            if isinstance(settled, LoadedAcross) and models is not None:
                models.set_training(model, item.training)
                method = "" if item.function == models.CALLED else item.function
                return PartAcross(settled, item.module, method) if item.module or method else model
            if not item.function and item.module:
                module = adapt_calls(module, session.adapter)
            if models is not None:
                module = models.set_training(module, item.training)
            return getattr(module, item.function) if item.function else module  # type: ignore[no-any-return]

        return _Target(call_in, model, classes, settled, built)
    raise LookupError(f"the case builds no model called {item.model}")


def _function(name: str, definition: CaseDefinition, job: ReplayJob) -> Any:
    """Return the function that the recipe imports by this name, else the first in the submission's files."""
    own_files = OwnFiles.of(job)
    for case in written_as(definition.function):
        if callable(case.__globals__.get(name)):
            return case.__globals__[name]
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", "") or "") in own_files and callable(getattr(module, name, None)):
            return as_recipe_has_it(getattr(module, name), module, job)
    raise MissingPartUsed(name, None)


def _call(target: _Target, item: IsolatedCall, change: Callable[[Any], Any], device: str) -> dict[str, Any]:
    """Return the results of one call, and the weights that it changed."""
    tensors = {name: change(value) for name, value in _read(item, device).items()}
    args, kwargs = rebuild(item.form, tensors)
    settled = target.settled
    if settled is None or not (item.function or item.state):
        return _number(target, args, kwargs)
    target.put({name: tensors[f"state.{name}"] for name in item.state})
    before = {name: array_hash(value) for name, value in settled.weights().items()}
    found = _number(target, args, kwargs)
    after = {name: value for name, value in settled.weights().items() if array_hash(value) != before.get(name)}
    return found | {f"after.{name}": value for name, value in after.items()}


def _gradients(target: _Target, item: IsolatedCall, device: str) -> Mapping[str, Any]:
    """Return the gradients that one call passes back, weights under gold's names."""
    tensors, settled = _read(item, device), target.settled
    target.put({name: tensors[f"state.{name}"] for name in item.state})
    inputs = [tensors[str(number)] for number in range(len(tensors)) if str(number) in tensors]
    library = modelling()
    if library is None:
        raise TypeError("nothing here can be differentiated")
    passed_back = library.numerics.passed_back
    if settled is None:
        return passed_back(target.call, item.form, inputs, dict)
    return passed_back(target.call, item.form, inputs, settled.gradients, settled.frozen())


def _number(target: _Target, args: Any, kwargs: Any) -> dict[str, Any]:
    with without_gradients():
        returned = target.call(*args, **kwargs)
        if isinstance(returned, Iterator):
            returned = list(returned)  # what a generator yields is its answer
    return {str(number): value for number, value in enumerate([*tensors_in([returned]), *plain_values([returned])])}


def _read(item: IsolatedCall, device: str) -> dict[str, Any]:
    library = storing().arrays
    found = library.load_tensors(Path(item.file))
    found |= {name: library.cast(found[name], "bfloat16") for name in item.bfloat16 if name in found}
    return {name: library.place(tensor, device) for name, tensor in found.items()}


class _Reached(BaseException):
    """Raised once the wanted model is built. A BaseException, so that no recipe catches it by mistake."""

    def __init__(self, model: Any) -> None:
        self.model = model


def _stop_at(case: ReplayCase, wanted: str) -> ReplayCase:
    build: Callable[..., Any] = case.model

    def model(factory: Callable[..., T], /, *args: Any, name: str = "model", **options: Any) -> T:
        built = build(factory, *args, name=name, **options)
        if name == wanted:
            raise _Reached(built)
        return built  # type: ignore[no-any-return]

    case.model = model  # type: ignore[method-assign]
    return case


def _as_given(tensor: Any) -> Any:
    return tensor


def _disturb(tensor: Any) -> Any:
    """Change a tensor for the call in between, which reveals a module that remembers earlier inputs."""
    if not dtype_name(tensor).startswith(("float", "bfloat")) or not tensor.ndim:
        return tensor
    import numpy as np

    return tensor[np.arange(len(tensor))[::-1].copy()] * 1.5

"""Make calls of a model's modules one at a time, on the other side's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldsmith.frameworks.framework import Framework, arrays_of, library_of, without_gradients
from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.call_forms import rebuild, tensors_in
from goldsmith.runs.conditions import OWN
from goldsmith.runs.implementation import GivenCall
from goldsmith.runs.live.model_facts import device_of, in_library, received
from goldsmith.runs.live.returned_values import moved
from goldsmith.runs.live.run_record import failure_of
from goldsmith.runs.requests import IsolatedCall
from goldsmith.runs.run import Run, RunFacts


def calls_alone(
    model: Any, calls: Sequence[GivenCall], precision: str, gradients: Callable[[], Mapping[str, Any]]
) -> list[Run]:
    """Make the calls and return what came of each; `gradients` are the parameters' after a call."""
    found = []
    library = library_of(model)
    assert library is not None
    for item, tensors in calls:
        try:
            module = library.models.alone(model, item.module)
            library.models.set_training(module, item.training)
            values = _call(library, model, module, item, _given(library, model, item, tensors, precision), gradients)
        except Exception as error:
            found.append(Run(RunFacts(failure=failure_of(error))))
            continue
        found.append(Run(values={name: arrays_of(value).copy(value) for name, value in values.items()}))
    return found


def _call(
    library: Framework,
    model: Any,
    module: Any,
    item: IsolatedCall,
    given: list[Any],
    gradients: Callable[[], Mapping[str, Any]],
) -> dict[str, Any]:
    if item.gradients:
        library.models.clear_gradients(model)
        passed = library.numerics.passed_back(module, item.form, given, gradients)
        return {f"gradient.{name}": value for name, value in passed.items()}
    args, kwargs = rebuild(item.form, {str(number): tensor for number, tensor in enumerate(given)})
    with without_gradients():
        returned = module(*args, **kwargs)
    return {str(number): value for number, value in enumerate(tensors_in([returned]))}


def _given(library: Framework, model: Any, item: IsolatedCall, tensors: Sequence[Any], precision: str) -> list[Any]:
    found = []
    for number, value in enumerate(tensors):
        tensor = in_library(value, library)
        if not is_tensor(tensor):
            tensor = received(value.copy(), library)
        if str(number) in item.bfloat16:
            tensor = library.arrays.cast(tensor, "bfloat16")
        found.append(moved(tensor, device_of(model), precision if precision != OWN else ""))
    return found

"""Make calls of a model's modules one at a time, on the other side's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.call_forms import rebuild, tensors_in
from goldsmith.instruments.call_gradients import passed_back
from goldsmith.process.sides import OWN, AloneAsk, AloneRan
from goldsmith.worker.live.model_facts import device_of
from goldsmith.worker.live.returned_values import moved
from goldsmith.worker.live.run_record import failure_of


def calls_alone(
    model: Any,
    calls: Sequence[AloneAsk],
    tensors: Mapping[str, Any],
    precision: str,
    gradients: Callable[[], Mapping[str, Any]],
) -> tuple[list[AloneRan], dict[str, Any]]:
    """Make the calls, and return what came of them and their tensors; `gradients` are the parameters' after a call."""
    found: list[AloneRan] = []
    arrays: dict[str, Any] = {}
    for item in calls:
        try:
            module = model.get_submodule(item.module)
            module.train(item.training)
            answers = _call(model, module, item, _given(model, item, tensors, precision), gradients)
        except Exception as error:
            found.append(AloneRan(number=item.number, failure=failure_of(error)))
            continue
        arrays |= {f"{item.number}.{name}": value.detach().clone() for name, value in answers.items()}
        passed = tuple(name.partition(".")[2] for name in answers if name.startswith("gradient."))
        found.append(AloneRan(number=item.number, outputs=len(answers) - len(passed), gradients=passed))
    return found, arrays


def _call(
    model: Any, module: Any, item: AloneAsk, given: list[Any], gradients: Callable[[], Mapping[str, Any]]
) -> dict[str, Any]:
    import torch

    if item.gradients:
        for parameter in model.parameters():
            parameter.grad = None
        passed = passed_back(module, item.form, given, gradients)
        return {f"gradient.{name}": value for name, value in passed.items()}
    args, kwargs = rebuild(item.form, {str(number): tensor for number, tensor in enumerate(given)})
    with torch.no_grad():
        returned = module(*args, **kwargs)
    return {str(number): value for number, value in enumerate(tensors_in([returned]))}


def _given(model: Any, item: AloneAsk, tensors: Mapping[str, Any], precision: str) -> list[Any]:
    import torch

    found: list[Any] = []
    while f"{item.number}.{len(found)}" in tensors:
        value = tensors[f"{item.number}.{len(found)}"]
        tensor = value if is_tensor(value) else torch.from_numpy(value.copy())
        if len(found) in item.bfloat16:
            tensor = tensor.to(torch.bfloat16)
        found.append(moved(tensor, device_of(model), precision if precision != OWN else ""))
    return found

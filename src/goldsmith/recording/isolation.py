"""Modules of a submission run alone, on what gold's own modules were called with.

A module's inputs are the outputs of those before it. So modules run alone when everything else is over, those of a case
in the order in which they are entered, and each is given its inputs only when its turn has come: by then, whatever can
be learnt from them has been asked for and taken already. Where two cases are alike, what one gives away comes too late
for what it was asked about itself, and a part is no better than where it did worst.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from goldsmith.recording.adapting import adapt_calls
from goldsmith.recording.attempts import write_attempt
from goldsmith.recording.causes import cause_of
from goldsmith.recording.protocol import ALONE, Ask, Attempt, Isolated
from goldsmith.recording.registry import CaseDefinition
from goldsmith.recording.traces import TENSOR, tensors_in

if TYPE_CHECKING:
    from goldsmith.recording.replaying import ReplayCase, ReplaySession

T = TypeVar("T")


def run_alone(session: ReplaySession, ask: Ask, item: Isolated, definition: CaseDefinition, output: Path) -> None:
    """One module, three times: as it was called, with something else, and as it was called."""
    arrays: dict[str, Any] = {}
    attempt = Attempt()
    try:
        module = _module(session, ask, item, definition)
        for number, change in enumerate((_as_given, _disturbed, _as_given)):
            for index, tensor in enumerate(_called(module, item, change, session.device)):
                arrays[f"{number}.{index}"] = tensor.detach().clone()
    except BaseException as error:
        attempt = Attempt(failure=cause_of(error, session.job, ask.case))
        arrays = {}
    write_attempt(output, ask.case, ALONE, attempt, arrays)


def _module(session: ReplaySession, ask: Ask, item: Isolated, definition: CaseDefinition) -> Any:
    """The module as the case has it the moment its model is built and has gold's weights."""
    case = session.case_for(definition, "again", ask.layout)
    stopping = _stop_at(case, item.model)
    try:
        definition.function(stopping)
    except _Reached as reached:
        model = reached.model
        module = adapt_calls(model.get_submodule(item.module), session.adapter) if item.module else model
        return module.train(item.training)
    raise LookupError(f"the case builds no model called {item.model}")


def _called(module: Any, item: Isolated, change: Callable[[Any], Any], device: str) -> list[Any]:
    import torch
    from safetensors.torch import load_file

    tensors = {name: change(tensor).to(device) for name, tensor in load_file(item.file).items()}
    args, kwargs = _rebuilt(item.form, tensors)
    with torch.no_grad():
        return tensors_in([module(*args, **kwargs)])


class _Reached(BaseException):
    """Not an `Exception`, so that no recipe catches it by mistake."""

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


def _rebuilt(form: Any, tensors: dict[str, Any]) -> Any:
    if isinstance(form, dict):
        if set(form) == {TENSOR}:
            return tensors[str(form[TENSOR])]
        return {key: _rebuilt(value, tensors) for key, value in form.items()}
    return [_rebuilt(value, tensors) for value in form] if isinstance(form, list) else form


def _as_given(tensor: Any) -> Any:
    return tensor


def _disturbed(tensor: Any) -> Any:
    """Something else in between, so that a module that remembers it gives itself away."""
    return tensor.flip(0) * 1.5 if tensor.is_floating_point() and tensor.dim() else tensor

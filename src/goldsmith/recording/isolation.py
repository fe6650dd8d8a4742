"""Modules of a submission run alone, on what gold's own modules were called with.

A module's inputs are the outputs of those before it. So each runs in a process of its own, forked before it reads
anything, and is given its own inputs only, after the plain replay is over. A GPU does not survive a fork: there, each
comes as a job of its own.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from goldsmith.recording.causes import cause_of
from goldsmith.recording.protocol import Attempt, Isolated
from goldsmith.recording.registry import CaseDefinition
from goldsmith.recording.replaying import ReplayCase, ReplaySession, adapt_calls, write_attempt
from goldsmith.recording.traces import TENSOR, tensors_in

T = TypeVar("T")
_PATIENCE = 30.0


class IsolatingSession(ReplaySession):
    """Runs every module it was asked for, each in a fork of this process."""

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        by_name = {item.name: item for item in definitions}
        self.output.mkdir(parents=True, exist_ok=True)
        for number, item in enumerate(self.job.isolated, start=1):
            self._on_case(item.case, number, len(self.job.isolated))
            if len(self.job.isolated) == 1:
                self._run_alone(item, by_name[item.case])
                continue
            child = os.fork()
            if not child:
                try:
                    self._run_alone(item, by_name[item.case])
                finally:
                    os._exit(0)  # whatever was raised in it, a fork must not go on as if it were this process
            _wait(child)
        self.ran = len(definitions)

    def _run_alone(self, item: Isolated, definition: CaseDefinition) -> None:
        arrays: dict[str, Any] = {}
        attempt = Attempt()
        try:
            module = self._module(item, definition)
            for number, change in enumerate((_as_given, _disturbed, _as_given)):
                for index, tensor in enumerate(self._call(module, item, change)):
                    arrays[f"{number}.{index}"] = tensor.detach().clone()
        except BaseException as error:
            attempt = Attempt(failure=cause_of(error, self.job, item.case))
            arrays = {}
        write_attempt(attempt, arrays, self.output / str(item.number))

    def _module(self, item: Isolated, definition: CaseDefinition) -> Any:
        """The module as the case has it the moment its model is built and has gold's weights."""
        case = self.case_for(definition, "again")
        stopping = _stop_at(case, item.model)
        try:
            definition.function(stopping)
        except _Reached as reached:
            model = reached.model
            module = adapt_calls(model.get_submodule(item.module), self.adapter) if item.module else model
            return module.train(item.training)
        raise LookupError(f"the case builds no model called {item.model}")

    def _call(self, module: Any, item: Isolated, change: Callable[[Any], Any]) -> list[Any]:
        import torch
        from safetensors.torch import load_file

        tensors = {name: change(tensor).to(self.device) for name, tensor in load_file(item.file).items()}
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


def _wait(child: int) -> None:
    """Until it ends or its time is up; what it did not write down did not happen."""
    ends = time.monotonic() + _PATIENCE
    while time.monotonic() < ends:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

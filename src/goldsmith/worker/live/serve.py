"""The process of one side of `goldsmith parity`: `python -P -m goldsmith.worker.live.serve JOB`.

Requests come as lines of JSON on standard input, replies go out as lines on standard output. Both are moved out of the
way before anything is imported, so that what the model's code prints, or reads, is none of them.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.parity import BadInputs
from goldsmith.gold.arrays import is_array, is_tensor
from goldsmith.gold.call_forms import NO_FORM, form_of, rebuilt, tensors_in
from goldsmith.gold.files import trace_as_bytes
from goldsmith.gold.safetensors_reader import Bfloat16, Mapped
from goldsmith.process.parent_watch import end_with_parent
from goldsmith.process.result_log import arrays_in
from goldsmith.process.sides import SideJob, SideProblem, SideReply, SideRequest
from goldsmith.weights.rules import BadRule, read_adapter
from goldsmith.worker.live.build_target import Built, CannotBuild, build
from goldsmith.worker.live.live_side import LiveSide
from goldsmith.worker.live.returned_values import InputSet

_PARENT_GONE = 70


class Server:
    """One side and the folder in which its arrays are left for the other."""

    def __init__(self, job: SideJob) -> None:
        self._job = job
        self._folder = Path(job.folder)
        self._numbers = itertools.count(1)
        built: Built = build(job)
        adapter = read_adapter(Path(job.adapter).read_bytes(), job.adapter) if job.adapter else None
        self._side = LiveSide(
            built.target,
            built.inputs,
            seed=job.seed,
            adapter=adapter,
            loss=built.loss,
            optimizer=built.optimizer,
            dtype=job.dtype,
            copied=False,
        )

    def answer(self, request: SideRequest) -> SideReply:
        match request.method:
            case "describe":
                return SideReply(described=self._side.describe())
            case "draw_inputs":
                return SideReply(count=self._side.draw_inputs())
            case "inputs":
                return self._inputs()
            case "take_inputs":
                self._side.take_inputs(
                    [_input_set(form, _read(request.file), number) for number, form in enumerate(request.forms)]
                )
                return SideReply()
            case "weights":
                return SideReply(file=self._write(self._side.weights()))
            case "load":
                assert request.load is not None
                return SideReply(loaded=self._side.load(_read(request.file), request.load))
            case "run":
                return self._run(request)
            case "run_alone":
                assert request.run is not None
                ran, arrays = self._side.run_alone(request.run, request.calls, _read(request.file))
                return SideReply(alone=tuple(ran), file=self._write(arrays))
        raise ValueError(request.method)

    def _run(self, request: SideRequest) -> SideReply:
        assert request.run is not None
        ran = self._side.run(request.run)
        arrays, _ = arrays_in(ran.values)
        plain = {path: value for path, value in ran.values.items() if not is_array(value)}
        facts = msgspec.structs.replace(ran.facts, plain=plain)
        trace = ""
        if ran.trace is not None:
            trace = str(self._folder / f"{self._job.role}-{next(self._numbers)}.trace")
            Path(trace).write_bytes(_trace_bytes(ran.trace))
        return SideReply(facts=facts, file=self._write(arrays), trace=trace)

    def _inputs(self) -> SideReply:
        forms, arrays = [], {}
        for number, given in enumerate(self._side.inputs()):
            values = [list(given.args), given.kwargs]
            form = form_of(values, itertools.count())
            if form is NO_FORM:
                raise BadInputs(
                    "an input is neither an array nor a plain value, so it cannot be given to both processes"
                )
            forms.append(form)
            arrays |= {f"{number}.{index}": item for index, item in enumerate(tensors_in(values))}
        return SideReply(forms=tuple(forms), file=self._write(arrays))

    def _write(self, arrays: Mapping[str, Any]) -> str:
        if not arrays:
            return ""
        path = self._folder / f"{self._job.role}-{next(self._numbers)}.safetensors"
        if any(map(is_tensor, arrays.values())):
            import torch
            from safetensors.torch import save_file

            tensors = {name: item if is_tensor(item) else torch.from_numpy(item) for name, item in arrays.items()}
            save_file({name: item.detach().cpu().contiguous().clone() for name, item in tensors.items()}, path)
        else:
            from safetensors.numpy import save_file as save_arrays

            save_arrays({name: item.copy() for name, item in arrays.items()}, path)
        return str(path)


def _trace_bytes(trace: Mapped) -> bytes:
    """Return a trace as a file, with its numbers as they are."""
    import json

    import torch

    tensors = {
        name: torch.from_numpy(item.bits.view("i2")).view(torch.bfloat16) if isinstance(item, Bfloat16) else item
        for name, item in trace.items()
    }
    return trace_as_bytes(tensors, json.loads(trace.metadata["goldsmith"]))


def _read(file: str) -> dict[str, Any]:
    if not file:
        return {}
    if "torch" not in sys.modules:
        from safetensors.numpy import load_file as load_arrays

        return dict(load_arrays(file))
    from safetensors.torch import load_file

    return dict(load_file(file))


def _input_set(form: Any, arrays: Mapping[str, Any], number: int) -> InputSet:
    prefix = f"{number}."
    mine = {name.removeprefix(prefix): item for name, item in arrays.items() if name.startswith(prefix)}
    args, kwargs = rebuilt(form, mine)
    return InputSet(tuple(args), kwargs)


def _requests(lines: Iterator[str]) -> Iterator[SideRequest]:
    for line in lines:
        yield msgspec.json.decode(line, type=SideRequest)


def _problem_of(error: Exception) -> SideProblem:
    if isinstance(error, CannotBuild):
        return SideProblem(
            message=str(error), usage=error.usage, wanted=error.wanted, hint=error.hint, failure=error.failure
        )
    if isinstance(error, BadInputs):
        return SideProblem(message=error.problem, usage=True, wanted="other inputs")
    if isinstance(error, BadRule):
        return SideProblem(message=f"its adapter cannot be used: {error}", usage=True, wanted="other rules")
    raise error


def main(arguments: Sequence[str]) -> None:
    job = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=SideJob)
    end_with_parent(job.parent, lambda: os._exit(_PARENT_GONE))
    asked, replies = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the model's code prints goes where its errors go

    def reply(answer: SideReply) -> None:
        replies.write(msgspec.json.encode(answer) + b"\n")

    try:
        server = Server(job)
    except (CannotBuild, BadInputs, BadRule) as error:
        reply(SideReply(problem=_problem_of(error)))
        return
    reply(SideReply())
    for request in _requests(asked):
        try:
            found = server.answer(request)
        except (CannotBuild, BadInputs, BadRule) as error:
            found = SideReply(problem=_problem_of(error))
        reply(found)


if __name__ == "__main__":
    main(sys.argv[1:])

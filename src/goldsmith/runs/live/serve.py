"""The process of one side of `goldsmith parity`: `python -P -m goldsmith.runs.live.serve JOB`.

Requests come as lines of JSON on standard input, replies go out as lines on standard output. Both are moved out of the
way before anything is imported, so that the model's code neither reads nor writes any of them.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import itertools
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.parity import BadInputs, BadWeights
from goldsmith.foundation.nested import map_paths, walk
from goldsmith.frameworks.framework import modelling, storing
from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.files import read_payload, trace_as_bytes, write_payload
from goldsmith.gold.safetensors_reader import Mapped
from goldsmith.gold.safetensors_writer import encoded_at_once
from goldsmith.process.parent_watch import end_with_parent
from goldsmith.process.result_log import write_run
from goldsmith.runs.implementation import SideJob, SideProblem, SideReply, SideRequest
from goldsmith.runs.live.build_target import CannotBuild, build
from goldsmith.runs.live.live_side import LiveSide
from goldsmith.runs.live.returned_values import InputSet
from goldsmith.runs.live.run_record import failure_of
from goldsmith.runs.run import Run
from goldsmith.weights.rules import Adapter, BadRule, read_adapter

_PARENT_GONE = 70
_DEVICE_ERROR = re.compile("(CUDA|HIP|XPU|MPS) error|device-side assert")


class Server:
    """One side, and the folder in which it leaves arrays for the parent and the other side."""

    def __init__(self, job: SideJob) -> None:
        self._job = job
        self._folder = Path(job.folder)
        self._numbers = itertools.count(1)
        self._adapter = _read_rules(job.adapter) if job.adapter else None
        self._built = build(job)
        self._side = self._begin(job.role)

    def _begin(self, role: str) -> LiveSide:
        """Return the side in a role; a reference that is another one's candidate takes that one's inputs."""
        job, built = self._job, self._built
        return LiveSide(
            built.target,
            built.inputs if role == job.role else None,
            seed=job.seed,
            adapter=self._adapter,
            convert=built.convert if role == "candidate" == job.role else None,
            loss=built.loss,
            optimizer=built.optimizer,
            dtype=job.dtype,
            device=job.device,
            copied=False,
            kernel=job.kernel,
            before=built.before,
        )

    def answer(self, request: SideRequest) -> SideReply:
        """Answer one request."""
        match request.method:
            case "begin":
                self._side.close()
                self._side = self._begin(request.role)
                return SideReply()
            case "describe":
                found = self._side.describe()
                notes = (*self._built.notes, *found.notes)
                return SideReply(described=msgspec.structs.replace(found, notes=notes))
            case "draw_inputs":
                return SideReply(draws=tuple(self._side.draw_inputs()))
            case "inputs":
                return SideReply(file=self._write_inputs(foreign=request.foreign))
            case "take_inputs":
                self._side.take_inputs(_read_inputs(Path(request.file)))
                return SideReply()
            case "make_own_inputs":
                return SideReply(own=self._side.make_own_inputs())
            case "weights":
                weights = self._side.weights()
                return SideReply(file=self._write(weights), paths=tuple(weights))
            case "load":
                assert request.load is not None
                arrays = _read(request.file)
                weights = {name: arrays[name] for name in request.paths}
                return SideReply(loaded=self._side.load(weights, request.load))
            case "round_weights":
                self._side.round_weights(request.dtypes)
                return SideReply()
            case "run":
                return self._log(map(self._side.run, request.runs))
            case "call":
                tensors = _read(request.file)
                calls = [
                    (item.call, _tensors_of(number, tensors)) for number, item in enumerate(request.runs) if item.call
                ]
                return self._log(self._side.call(request.runs[0].conditions, calls))
        raise ValueError(request.method)

    def _log(self, runs: Iterable[Run]) -> SideReply:
        file = Path(self._next_file("runs"))
        for number, run in enumerate(runs):
            trace = None if run.trace is None else _trace_bytes(run.trace)
            write_run(file, self._job.role, str(number), dataclasses.replace(run, trace=trace))
        return SideReply(file=str(file))

    def _write_inputs(self, *, foreign: bool) -> str:
        """Write the inputs with their nesting, for a reader that builds no other objects, and that may have `foreign`
        libraries."""
        sets = [[list(item.args), item.kwargs] for item in self._side.inputs()]
        tensors = [path for path, item in walk(sets) if is_tensor(item)]
        suffix = ".npz" if foreign else ""
        try:
            path = write_payload({"sets": sets, "tensors": tensors}, Path(self._next_file("inputs")), suffix)
            read_payload(path)
        except Exception:  # torch and json refuse in ways of their own what they do not know
            raise CannotBuild(
                "an input is neither a tensor nor a plain value, so it cannot be given to two processes",
                kind="usage",
                subject="inputs",
                wanted="tensors and plain values, or call goldsmith.parity(reference, candidate, inputs) in Python",
            ) from None
        return str(path)

    def _write(self, arrays: Mapping[str, Any]) -> str:
        if not arrays:
            return ""
        path = self._next_file("safetensors")
        with Path(path).open("wb") as file:
            encoded_at_once(arrays).write_to(file)
        return path

    def _next_file(self, suffix: str) -> str:
        return str(self._folder / f"{self._job.role}-{next(self._numbers)}.{suffix}")


def _read_inputs(file: Path) -> list[InputSet]:
    """Read inputs, tensors as those of the library in use."""
    kept, library = read_payload(file), modelling()

    def own(path: str, item: Any) -> Any:
        is_another = path in kept["tensors"] and not is_tensor(item) and library is not None
        return library.arrays.received(item) if is_another and library is not None else item

    return [InputSet(tuple(args), kwargs) for args, kwargs in map_paths(own, kept["sets"])]


def _tensors_of(number: int, tensors: Mapping[str, Any]) -> list[Any]:
    names = (f"{number}.{position}" for position in itertools.count())
    return [tensors[name] for name in itertools.takewhile(tensors.__contains__, names)]


def _trace_bytes(trace: Mapped) -> bytes:
    """Encode a trace as a file, with its numbers as they are."""
    return trace_as_bytes(dict(trace), json.loads(trace.metadata["goldsmith"]))


def _read_rules(file: str) -> Adapter:
    try:
        return read_adapter(Path(file).read_bytes(), file)
    except Exception as error:  # an adapter is a file of Python
        message = str(error) if isinstance(error, BadRule) else failure_of(error).message
        wanted = "rules of goldsmith.adapter"
        raise CannotBuild(message, kind="usage", subject=f"--adapter {file}", wanted=wanted) from None


def _read(file: str) -> dict[str, Any]:
    return storing().arrays.load_tensors(Path(file)) if file else {}


def _problem_of(error: Exception) -> SideProblem:
    if isinstance(error, CannotBuild):
        return error.problem
    if isinstance(error, BadInputs):
        message, _, wanted = error.sentence().partition("; give ")
        return SideProblem(kind="usage", message=message, subject="inputs", wanted=wanted.removesuffix("."))
    if isinstance(error, BadWeights):
        return SideProblem(message=f"cannot be compared: {error.sentence().removesuffix('.')}")
    if isinstance(error, OSError):
        return SideProblem(kind="disk", message=error.strerror or str(error))
    if _DEVICE_ERROR.search(str(error)):  # told late, wherever the device is asked for something next
        message = f"fails on its device: {failure_of(error).message.splitlines()[0]}"
        return SideProblem(message=message, hint=", with CUDA_LAUNCH_BLOCKING=1 in the environment to see where")
    return SideProblem(kind="internal", message=repr(error))


def main(arguments: Sequence[str]) -> None:
    """Build one side, say so, and answer until the parent closes the pipe."""
    job = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=SideJob)
    end_with_parent(job.parent, lambda: os._exit(_PARENT_GONE))
    faulthandler.enable(all_threads=False)
    asked, replies = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the model's code prints goes where its errors go

    def reply(answer: SideReply) -> None:
        rest = memoryview(msgspec.json.encode(answer) + b"\n")
        while rest:
            rest = rest[replies.write(rest) :]

    try:
        server = Server(job)
        reply(SideReply())
        for line in asked:
            reply(server.answer(msgspec.json.decode(line, type=SideRequest)))
    except Exception as error:
        traceback.print_exc()
        reply(SideReply(problem=_problem_of(error)))


if __name__ == "__main__":
    main(sys.argv[1:])

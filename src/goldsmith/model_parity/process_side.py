"""A side in a process of its own: it imports one implementation, so that both may have modules of the same name."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite, Unexpected
from goldsmith.errors.parity import BadTarget, SideFailed
from goldsmith.errors.recipe import DeviceMissing
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.gold.arrays import as_numpy
from goldsmith.gold.files import write_arrays
from goldsmith.process.launcher import deterministic_environment
from goldsmith.process.process_exit import signal_name
from goldsmith.process.process_groups import Leader, end_group
from goldsmith.process.result_log import runs_in
from goldsmith.runs.conditions import Conditions
from goldsmith.runs.implementation import (
    Described,
    GivenCall,
    Loaded,
    LoadRequest,
    OwnInputs,
    SideJob,
    SideProblem,
    SideReply,
    SideRequest,
)
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run

_POLL_INTERVAL_S = 0.005
_LOG_TAIL_BYTES = 4000
_READ_BYTES = 2**20
_CRASH_PLACE = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ', re.MULTILINE)


class ProcessSide:
    """The parent's end. The process is started with `start`, and must be ended with `close`; `on_wait` is called while
    it works. What it hands to the other side, weights or inputs, is in a file."""

    def __init__(self, job: SideJob, on_wait: Callable[[], None] = lambda: None) -> None:
        self._job = msgspec.structs.replace(job, parent=os.getpid())
        self._folder = Path(job.folder)
        self._on_wait = on_wait
        self._process: Leader | None = None
        self._requests: IO[bytes] | None = None
        self._replies: IO[bytes] | None = None
        self._rest = b""
        self._given = 0

    def start(self) -> None:
        """Start the process, which begins to import at once."""
        file = self._folder / f"{self._job.role}.json"
        environment = deterministic_environment(self._job.threads)
        if "TORCHDYNAMO_DISABLE" not in os.environ:  # whether a compiled model is right is a fair question
            del environment["TORCHDYNAMO_DISABLE"]
        with uninterrupted():
            try:
                file.write_bytes(msgspec.json.encode(self._job))
                with self._log.open("wb") as log:
                    process = subprocess.Popen(
                        [self._job.interpreter or sys.executable, "-P", "-m", "goldsmith.runs.live.serve", str(file)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        cwd=self._job.root,
                        env=environment,
                        start_new_session=True,
                    )
            except OSError as error:
                raise CannotWrite(self._folder, error.strerror or str(error)) from None
            self._process = Leader(process)
            self._requests, self._replies = process.stdin, process.stdout
            assert self._replies is not None
            os.set_blocking(self._replies.fileno(), False)

    def wait_until_built(self) -> None:
        """Wait until the implementation is imported and built; raise if it cannot be."""
        self._receive()

    def begin(self, role: str) -> None:
        """Be as after the start, as the reference or the candidate of another side."""
        self._ask(SideRequest(method="begin", role=role))

    def describe(self) -> Described:
        found = self._ask(SideRequest(method="describe")).described
        assert found is not None
        return found

    def draw_inputs(self) -> Sequence[str]:
        return self._ask(SideRequest(method="draw_inputs")).draws

    def inputs(self, *, foreign: bool = False) -> str:
        return self._ask(SideRequest(method="inputs", foreign=foreign)).file

    def take_inputs(self, inputs: str) -> None:
        self._ask(SideRequest(method="take_inputs", file=inputs))

    def make_own_inputs(self) -> OwnInputs | None:
        return self._ask(SideRequest(method="make_own_inputs")).own

    def weights(self) -> SideReply:
        return self._ask(SideRequest(method="weights"))

    def load(self, weights: SideReply, request: LoadRequest) -> Loaded:
        found = self._ask(SideRequest(method="load", file=weights.file, paths=weights.paths, load=request)).loaded
        assert found is not None
        return found

    def round_weights(self, dtypes: Mapping[str, str]) -> None:
        self._ask(SideRequest(method="round_weights", dtypes=dict(dtypes)))

    def run(self, request: RunRequest) -> Run:
        (found,) = self._runs(SideRequest(method="run", runs=(request,)))
        return found

    def call(self, conditions: Conditions, calls: Sequence[GivenCall]) -> list[Run]:
        self._given += 1
        file = self._folder / f"{self._job.role}-given-{self._given}.safetensors"
        arrays = {
            f"{number}.{position}": as_numpy(item)
            for number, (_, tensors) in enumerate(calls)
            for position, item in enumerate(tensors)
        }
        try:
            write_arrays(arrays, file)
        except OSError as error:
            raise CannotWrite(file, error.strerror or str(error)) from None
        requests = (RunRequest(case="", conditions=conditions, call=item) for item, _ in calls)
        found = self._runs(SideRequest(method="call", runs=tuple(requests), file=str(file)))
        file.unlink(missing_ok=True)
        return found

    def _runs(self, request: SideRequest) -> list[Run]:
        """Read runs from the log where the process left them, and remove its name: it takes room as long as they are
        used."""
        file = Path(self._ask(request).file)
        found = runs_in(file)
        file.unlink()
        return found

    def close(self) -> None:
        """End the process and everything that it has started."""
        if self._process is None:
            return
        with uninterrupted():
            end_group(self._process)
            for pipe in (self._requests, self._replies):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            self._process = None

    # --- requests ---------------------------------------------------------------------------------------------------

    @property
    def _log(self) -> Path:
        return self._folder / f"{self._job.role}.log"

    def _ask(self, request: SideRequest) -> SideReply:
        assert self._requests is not None
        with contextlib.suppress(BrokenPipeError):  # `_receive` says how it ended
            self._requests.write(msgspec.json.encode(request) + b"\n")
            self._requests.flush()
        return self._receive()

    def _receive(self) -> SideReply:
        assert self._replies is not None
        while b"\n" not in self._rest:
            with uninterrupted():
                more = self._replies.read(_READ_BYTES)
                if more == b"":
                    raise self._ended()
                self._rest += more or b""
                if not more:
                    pause(_POLL_INTERVAL_S)
            self._on_wait()
        line, _, self._rest = self._rest.partition(b"\n")
        reply = msgspec.json.decode(line, type=SideReply)
        if reply.problem is not None:
            raise self._refusal(reply.problem)
        return reply

    # --- errors -----------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        name = f"{self._job.role}() of {self._job.setup}" if self._job.setup else self._job.target.rstrip(":")
        return f"{name} ({self._job.version})" if self._job.version else name

    def _refusal(self, problem: SideProblem) -> GoldsmithError:
        match problem.kind:
            case "device":
                return DeviceMissing(self._job.device, problem.available)
            case "usage":
                return BadTarget(problem.subject or self._name, problem.message, problem.wanted)
            case "disk":
                return CannotWrite(self._folder, problem.message)
            case "internal":
                return Unexpected(problem.message)
        where = problem.failure.frames[-1:] if problem.failure else ()
        place = f" ({where[0].file}, line {where[0].line})" if where else ""
        return SideFailed(self._name, f"{problem.message}{place}", problem.hint)

    def _ended(self) -> SideFailed:
        assert self._process is not None
        end_group(self._process)
        code = self._process.returncode or 0
        if code == -signal.SIGKILL:
            return SideFailed(self._process_name, "was killed by SIGKILL", ", with more memory or smaller inputs")
        if code < 0:
            return SideFailed(self._process_name, f"was killed by {signal_name(-code)}{self._crash_place()}")
        return SideFailed(self._process_name, f"ended with exit code {code}{self._last_line()}")

    @property
    def _process_name(self) -> str:
        return f"the process of {self._name}"

    def _crash_place(self) -> str:
        """Say at which line of its own code a process crashed, by what Python wrote as it did."""
        known = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
        own = [found for found in _CRASH_PLACE.finditer(self._log_tail()) if not found["file"].startswith(known)]
        return f" in {own[0]['file']}, line {own[0]['line']}" if own else ""

    def _last_line(self) -> str:
        lines = self._log_tail().strip().splitlines()
        return f" after it printed {lines[-1].strip()!r}" if lines else ""

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode("utf-8", "replace")

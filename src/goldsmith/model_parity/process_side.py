"""A side in a process of its own: it imports one implementation, so that both may have modules of the same name."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite, Unexpected
from goldsmith.errors.parity import BadTarget, SideFailed
from goldsmith.errors.recipe import DeviceMissing
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.gold.arrays import as_numpy
from goldsmith.gold.files import write_arrays
from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.process.launcher import deterministic_environment
from goldsmith.process.process_exit import signal_name
from goldsmith.process.process_groups import Leader, end_group
from goldsmith.process.sides import (
    AloneAsk,
    AloneRan,
    Described,
    LoadAsk,
    Loaded,
    OwnInputs,
    Ran,
    RunAsk,
    RunFacts,
    SideJob,
    SideProblem,
    SideReply,
    SideRequest,
)

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
                        [sys.executable, "-P", "-m", "goldsmith.worker.live.serve", str(file)],
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

    def describe(self) -> Described:
        found = self._ask(SideRequest(method="describe")).described
        assert found is not None
        return found

    def draw_inputs(self) -> int:
        return self._ask(SideRequest(method="draw_inputs")).count

    def inputs(self) -> str:
        return self._ask(SideRequest(method="inputs")).file

    def take_inputs(self, inputs: str) -> None:
        self._ask(SideRequest(method="take_inputs", file=inputs))

    def make_own_inputs(self) -> OwnInputs | None:
        return self._ask(SideRequest(method="make_own_inputs")).own

    def weights(self) -> SideReply:
        return self._ask(SideRequest(method="weights"))

    def load(self, weights: SideReply, ask: LoadAsk) -> Loaded:
        found = self._ask(SideRequest(method="load", file=weights.file, paths=weights.paths, load=ask)).loaded
        assert found is not None
        return found

    def round_weights(self, dtypes: Mapping[str, str]) -> None:
        self._ask(SideRequest(method="round_weights", dtypes=dict(dtypes)))

    def run(self, ask: RunAsk) -> Ran:
        reply = self._ask(SideRequest(method="run", run=ask))
        plain = {
            path: float.fromhex(value[0]) if isinstance(value, list) else value for path, value in reply.plain.items()
        }
        values = _arrays(reply) | plain
        trace = _open(reply.trace) if reply.trace else None
        return Ran(reply.facts or RunFacts(), {path: values[path] for path in reply.paths}, trace)

    def run_alone(
        self, ask: RunAsk, calls: Sequence[AloneAsk], tensors: Mapping[str, Any]
    ) -> tuple[Sequence[AloneRan], Mapping[str, Any]]:
        self._given += 1
        file = self._folder / f"{self._job.role}-given-{self._given}.safetensors"
        try:
            write_arrays({name: as_numpy(item) for name, item in tensors.items()}, file)
        except OSError as error:
            raise CannotWrite(file, error.strerror or str(error)) from None
        reply = self._ask(SideRequest(method="run_alone", run=ask, calls=tuple(calls), file=str(file)))
        file.unlink(missing_ok=True)
        return reply.alone, _arrays(reply)

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
        return f"{self._job.role}() of {self._job.setup}" if self._job.setup else self._job.target.rstrip(":")

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


def _arrays(reply: SideReply) -> dict[str, Any]:
    return dict(_open(reply.file, reply.pairs)) if reply.file else {}


def _open(file: str, pairs: Collection[str] = ()) -> Any:
    """Map a file's arrays and remove its name: it takes room as long as they are used."""
    path = Path(file)
    found = open_mapped(path)
    path.unlink()
    for name in pairs:
        found[name] = found[name].view("c16" if found[name].dtype.itemsize == 8 else "c8")[..., 0]
    return found

"""A side in a process of its own: it imports one implementation, so that both may have modules of the same name."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from goldsmith.errors.parity import BadTarget, SideFailed
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.gold.safetensors_reader import Bfloat16, open_mapped
from goldsmith.process.launcher import deterministic_environment
from goldsmith.process.process_exit import signal_name
from goldsmith.process.process_groups import Leader, end_group
from goldsmith.process.sides import (
    AloneAsk,
    AloneRan,
    Described,
    LoadAsk,
    Loaded,
    Ran,
    RunAsk,
    RunFacts,
    SideJob,
    SideProblem,
    SideReply,
    SideRequest,
)

_POLL_INTERVAL_S = 0.005
_LOG_TAIL_BYTES = 2000


@dataclass(frozen=True)
class Handed:
    """Arrays in a file that one side has written and another will read."""

    file: str
    forms: tuple[Any, ...] = ()


class ProcessSide:
    """The parent's end. The process is started with `start`, and must be ended with `close`."""

    def __init__(self, job: SideJob) -> None:
        self._job = msgspec.structs.replace(job, parent=os.getpid())
        self._folder = Path(job.folder)
        self._process: Leader | None = None
        self._asking: IO[bytes] | None = None
        self._replies = 0
        self._rest = b""
        self._written = 0

    def start(self) -> None:
        """Start the process, which begins to import at once."""
        file = self._folder / f"{self._job.role}.json"
        file.write_bytes(msgspec.json.encode(self._job))
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "goldsmith.worker.live.serve", str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._job.root,
                env=deterministic_environment(self._job.threads),
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        self._asking, self._replies = process.stdin, process.stdout.fileno()
        self._output = process.stdout
        os.set_blocking(self._replies, False)
        self._process = Leader(process)

    def wait_until_built(self) -> None:
        """Wait until the implementation is imported and built; raise if it cannot be."""
        self._receive()

    def describe(self) -> Described:
        found = self._ask(SideRequest(method="describe")).described
        assert found is not None
        return found

    def draw_inputs(self) -> int:
        return self._ask(SideRequest(method="draw_inputs")).count

    def inputs(self) -> Handed:
        reply = self._ask(SideRequest(method="inputs"))
        return Handed(reply.file, reply.forms)

    def take_inputs(self, inputs: Handed) -> None:
        self._ask(SideRequest(method="take_inputs", file=inputs.file, forms=inputs.forms))

    def weights(self) -> Handed:
        return Handed(self._ask(SideRequest(method="weights")).file)

    def load(self, weights: Handed, ask: LoadAsk) -> Loaded:
        found = self._ask(SideRequest(method="load", file=weights.file, load=ask)).loaded
        assert found is not None
        return found

    def run(self, ask: RunAsk) -> Ran:
        reply = self._ask(SideRequest(method="run", run=ask))
        facts = reply.facts or RunFacts()
        values = _arrays(reply.file) | facts.plain
        return Ran(facts, values, open_mapped(Path(reply.trace)) if reply.trace else None)

    def run_alone(
        self, ask: RunAsk, calls: Sequence[AloneAsk], tensors: Mapping[str, Any]
    ) -> tuple[Sequence[AloneRan], Mapping[str, Any]]:
        from safetensors.numpy import save_file

        self._written += 1
        file = self._folder / f"{self._job.role}-given-{self._written}.safetensors"
        save_file({name: _plain(item) for name, item in tensors.items()}, file)
        reply = self._ask(SideRequest(method="run_alone", run=ask, calls=tuple(calls), file=str(file)))
        return reply.alone, _arrays(reply.file)

    def close(self) -> None:
        if self._process is None:
            return
        with uninterrupted():
            with contextlib.suppress(OSError):
                if self._asking is not None:
                    self._asking.close()
            end_group(self._process)
            self._output.close()
            self._process = None

    # --- requests ---------------------------------------------------------------------------------------------------

    @property
    def _log(self) -> Path:
        return self._folder / f"{self._job.role}.log"

    def _ask(self, request: SideRequest) -> SideReply:
        assert self._asking is not None
        with contextlib.suppress(BrokenPipeError):  # `_receive` says how it ended
            self._asking.write(msgspec.json.encode(request) + b"\n")
            self._asking.flush()
        return self._receive()

    def _receive(self) -> SideReply:
        while b"\n" not in self._rest:
            try:
                more = os.read(self._replies, 2**20)
            except BlockingIOError:
                with uninterrupted():
                    pause(_POLL_INTERVAL_S)
                continue
            if not more:
                raise self._ended()
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        reply = msgspec.json.decode(line, type=SideReply)
        if reply.problem is not None:
            raise self._refusal(reply.problem)
        return reply

    def _refusal(self, problem: SideProblem) -> BadTarget | SideFailed:
        name = self._job.setup or self._job.target
        if problem.usage:
            return BadTarget(name, problem.message, *([problem.wanted] if problem.wanted else []))
        where = problem.failure.frames[-1:] if problem.failure else ()
        place = f" ({where[0].file}, line {where[0].line})" if where else ""
        return SideFailed(name, f"{problem.message}{place}", problem.hint)

    def _ended(self) -> SideFailed:
        assert self._process is not None
        end_group(self._process)
        code = self._process.returncode or 0
        how = f"was killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        tail = self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode("utf-8", "replace").strip().splitlines()
        said = f": {tail[-1]}" if tail else ""
        hint = ", with more memory or smaller inputs" if code == -9 else ""
        return SideFailed(f"the process of {self._job.setup or self._job.target}", f"{how}{said}", hint)


def _arrays(file: str) -> dict[str, Any]:
    return dict(open_mapped(Path(file))) if file else {}


def _plain(item: Any) -> Any:
    import numpy as np

    from goldsmith.gold.arrays import as_numpy

    return np.ascontiguousarray(as_numpy(item) if isinstance(item, Bfloat16) else item)

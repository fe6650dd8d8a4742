"""Run a submission's cases in a workspace, by worker processes that know nothing of gold's outputs.

Which runs a verdict needs is decided in `replay_strategy.py`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.check.replay_results import ReadBudget, ResultReader, as_told
from goldsmith.check.shortages import is_shortage
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.recipe import DeviceMissing, NeverReady
from goldsmith.foundation.nested import map_tree
from goldsmith.generate.jobs import make_job
from goldsmith.gold.arrays import is_array, is_tensor
from goldsmith.gold.files import write_payload
from goldsmith.gold.load import GoldCase
from goldsmith.gold.payload import to_file
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.process.messages import NOT_CONFINED, Event, KeptCase, ReplayJob
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.worker_channel import WorkerChannel
from goldsmith.runs.conditions import FLOAT64, PLAIN, REPEAT, Conditions
from goldsmith.runs.requests import ALONE, IsolatedCall, RunRequest
from goldsmith.runs.run import CaseRuns, Failure, Run
from goldsmith.runs.setting import PLAIN_SETTING, Setting
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.limits import Limits
from goldsmith.source_code.compiled_parts import CompiledParts
from goldsmith.source_code.forbidden import MAX_USES
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import Workspace

RUNS = (PLAIN, REPEAT, FLOAT64)
INPUTS_DIR = "given"
_GIVEN = ("input", "state_dict")

Until = Callable[[str, CaseRuns], bool]


@dataclass(frozen=True)
class SandboxPolicy:
    """How submissions are sandboxed: what this machine supports, and what every submission may use."""

    level: Level
    confinement: Confinement


class _Worker(threading.local):
    """The worker that a thread has open, and whether it is kept for several requests."""

    channel: WorkerChannel | None = None
    is_shared: bool = False


@dataclass
class ReplayWorkspace:
    """A workspace with a submission in it, and the worker processes that run its cases there.

    Several threads may use it at once: each has its own worker. What workers report when they end is collected here.
    Parts in `corrections` are replaced by the solution's.
    """

    target: Target
    workspace: Workspace
    golds: Mapping[str, GoldCase]
    adapter: Path | None
    case_timeout: float
    watcher: Watcher
    fork_server: ForkClient
    limits: Limits = field(default_factory=Limits)
    confined: SandboxPolicy | None = None
    stand_ins: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    library: str = ""
    stubs_used: set[str] = field(default_factory=set)
    sightings: dict[tuple[str, str], None] = field(default_factory=dict)
    given: Path | None = None
    allowance: Allowance | None = None
    taken: ReadBudget = field(default_factory=ReadBudget)
    peak: int = 0
    packages: set[str] = field(default_factory=set)
    corrections: tuple[CompiledParts, ...] = ()
    setting: Setting = PLAIN_SETTING
    _launches: int = 0
    _worker: _Worker = field(init=False, repr=False, default_factory=_Worker)

    def __post_init__(self) -> None:
        if self.confined is not None and self.confined.confinement.limits.disk is not None:
            self.taken.most = 2 * self.confined.confinement.limits.disk  # what fits there at once, and as much again

    @contextlib.contextmanager
    def one_worker(self) -> Iterator[None]:
        """Send this thread's requests to one worker process while the context lasts. If it dies, only the case it was
        running is lost; another worker runs the cases after it."""
        self._worker.is_shared = True
        try:
            yield
        finally:
            self._worker.is_shared = False
            self._close()

    def replay(
        self, cases: Sequence[str], runs: Sequence[Conditions] = RUNS, layout: str = "", until: Until | None = None
    ) -> dict[str, CaseRuns]:
        """Run every case in every way, in the order of `runs`; see `run`."""
        return self.run(dict.fromkeys(cases, runs), dict.fromkeys(cases, layout), until)

    def run(
        self,
        wanted: Mapping[str, Sequence[Conditions]],
        layouts: Mapping[str, str] | None = None,
        until: Until | None = None,
    ) -> dict[str, CaseRuns]:
        """Run every case in the requested ways, in order. Each case has a run at least under its first conditions.

        `until` is called with each case as soon as it has ended; once it returns true, the cases after it are not run.
        """
        coverage = any(run.observe == "coverage" for runs in wanted.values() for run in runs)
        pending = dict(wanted)
        collector = _Collector(self.watcher, wanted, until)
        try:
            while pending and not collector.enough:
                requests = [
                    RunRequest(case=name, conditions=self.setting.within(run).but(layout=(layouts or {}).get(name, "")))
                    for name, runs in pending.items()
                    for run in runs
                ]
                is_new = self._worker.channel is None
                channel = self._channel(coverage=coverage)
                collector.reader = self._reader(channel)
                try:
                    failure = self._submit(channel, requests, collector.watcher if until else self.watcher)
                except _StopEarly:
                    break
                if failure is not None and failure.case is None and not is_new:
                    continue  # the worker had died before this request: retry in a new one
                names = list(pending)
                reached = names.index(failure.case) + 1 if failure and failure.case in names else len(names)
                for name in names[:reached]:
                    collector.take(name, failure or _no_answer())
                    del pending[name]
                if failure is None:
                    break
        finally:
            self._close_unless_shared()
        self._look_for_shortage(collector.runs.values())
        return collector.runs

    def run_module(self, case: str, module: IsolatedCall, inputs: Mapping[str, Any], layout: str) -> Run:
        """Call a module of a case alone, on `inputs`. The worker can read those from now on, and not before."""
        from safetensors.numpy import save_file

        try:
            channel = self._channel()
            file = channel.folder / f"{channel.next_number}.safetensors"
            try:
                save_file({name: tensor.copy() for name, tensor in inputs.items()}, file)
            except Exception as error:  # safetensors raises its own types
                raise CannotWrite(file, str(error)) from None
            reader = self._reader(channel)
            call = msgspec.structs.replace(module, file=str(file))
            request = RunRequest(case=case, conditions=REPEAT.but(layout=layout), call=call)
            found = reader.isolated(case, self._submit(channel, [request], self.watcher) or _no_answer())
        finally:
            self._close_unless_shared()
        self._look_for_shortage([CaseRuns({ALONE: found})])
        return found

    def _look_for_shortage(self, found: Iterable[CaseRuns]) -> None:
        if any(is_shortage(run.failure) for runs in found for run in runs.runs.values()):
            self.watcher.on_shortage()

    # --- the worker ---------------------------------------------------------------------------------------------------

    def _channel(self, *, coverage: bool = False) -> WorkerChannel:
        if self._worker.channel is None:
            self._worker.channel = WorkerChannel(self._job(coverage=coverage), self.fork_server)
        return self._worker.channel

    def _reader(self, channel: WorkerChannel) -> ResultReader:
        return ResultReader(channel.left, channel.next_output, self.workspace, self.taken)

    def _submit(self, channel: WorkerChannel, requests: Sequence[RunRequest], watcher: Watcher) -> Failure | None:
        """Have the worker carry out all requests; if it did not, return why, and at which case."""
        left = self.allowance.left if self.allowance else math.inf
        if left <= 0:
            self._close()
            return msgspec.structs.replace(self._out_of_time(), case=requests[-1].case)
        cases = len({request.case for request in requests})
        timeout = min(self.target.timeout + self.case_timeout * cases, left)
        try:
            ending = channel.submit(
                requests, timeout=timeout, case_timeout=self.case_timeout, watcher=watcher, allowance=self.allowance
            )
        except BaseException:
            self._worker.channel = None  # `submit` has closed it
            raise
        if ending is None:
            return None
        self._merge_report(ending)
        failure = _failure(ending, self.workspace) or _no_answer()
        if ending.result is None and is_shortage(failure, ending.log_tail):
            self.watcher.on_shortage()
        if ending.overrun and self.allowance and self.allowance.left <= 0:
            failure = self._out_of_time()
        is_credible = self.confined is None and self.target.device != "cpu" and not any(it.call for it in requests)
        if failure.kind == "device" and ending.last_case is None and is_credible:
            raise DeviceMissing(self.target.device, failure.message.split(", "))
        if not ending.is_ready and (ending.overrun or self.target.device != "cpu"):
            raise NeverReady(self.target.device, failure.message)
        return msgspec.structs.replace(failure, case=ending.last_case)

    def _close(self) -> None:
        if self._worker.channel is not None:
            self._merge_report(self._worker.channel.end())

    def _close_unless_shared(self) -> None:
        if not self._worker.is_shared:
            self._close()

    def _merge_report(self, ending: ProcessExit) -> None:
        self._worker.channel = None
        result = ending.result
        if result is not None:
            self.peak = max(self.peak, result.peak)
            self.packages |= set(result.packages)
            self.stubs_used |= set(result.stand_ins) & set(self.stand_ins)
            self.sightings |= dict.fromkeys(result.forbidden[:MAX_USES])

    def _out_of_time(self) -> Failure:
        assert self.allowance is not None
        return Failure(kind="timeout", message=f"took longer than {self.allowance.limit:g} s in all its runs")

    def _job(self, *, coverage: bool) -> ReplayJob:
        """Make the job for a worker that can run any case."""
        self._launches += 1
        scratch = self.workspace.scratch / f"{self._launches}-{secrets.token_hex(4)}"
        scratch.mkdir()
        job = make_job(
            ReplayJob,
            self.target,
            self.workspace,
            self.target,
            output=str(scratch / "out"),
            scratch=str(scratch),
            requests_dir=str(scratch.with_name(f"{scratch.name}.asks")),
            coverage=coverage,
            kept=self.write_inputs(),
            adapter=str(self.adapter or ""),
            limits=self.limits,
            written=self.written,
            library=self.library,
            stand_ins=self.stand_ins,
            forbidden=self.target.forbidden,
            corrections=self.corrections,
        )
        return msgspec.structs.replace(job, **self._confinement(job)) if self.confined else job

    def _confinement(self, job: ReplayJob) -> dict[str, Any]:
        """Let the child read its own workspace and inputs, and write into the workspace and its scratch folder."""
        assert self.confined is not None
        given = (*(item.file for item in job.kept.values()), job.requests_dir)
        confinement = msgspec.structs.replace(
            self.confined.confinement,
            home=str(Path(job.scratch, "home")),
            readable=(*self.confined.confinement.readable, *given),
            writable=(*self.confined.confinement.writable, str(self.workspace.root), job.scratch),
        )
        return {"confinement": confinement, "level": self.confined.level}

    def write_inputs(self) -> dict[str, KeptCase]:
        """Write gold's inputs and weights to files of their own: nothing else of gold enters the workspace. If they
        have been written before, copy them, or share them where the sandbox prevents changes."""
        folder = self.workspace.scratch / INPUTS_DIR
        if self.confined is not None and self.given is not None:
            folder = self.given
        elif not folder.exists():
            folder.mkdir()
            for file in sorted(self.given.iterdir()) if self.given else ():
                shutil.copyfile(file, folder / file.name)
        return {name: KeptCase.of(case.entry, input_file(case, folder)) for name, case in self.golds.items()}


class _StopEarly(Exception):
    """Raised when `until` says that enough cases have run."""


@dataclass
class _Collector:
    """Collects the results of cases: with `until` as each ends, else when all are done."""

    default_watcher: Watcher
    wanted: Mapping[str, Sequence[Conditions]]
    until: Until | None
    reader: ResultReader | None = None
    runs: dict[str, CaseRuns] = field(default_factory=dict)
    enough: bool = False

    @property
    def watcher(self) -> Watcher:
        return dataclasses.replace(self.default_watcher, on_case=self._on_case)

    def take(self, name: str, default: Failure) -> None:
        assert self.reader is not None
        if name not in self.runs and not self.enough:
            self.runs[name] = self.reader.of(name, self.wanted[name], default)
            self.enough = self.until is not None and self.until(name, self.runs[name])

    def _on_case(self, event: Event) -> None:
        self.default_watcher.on_case(event)
        cases = list(self.wanted)
        for name in cases[: cases.index(event.case)] if event.case in cases else ():
            self.take(name, _no_answer())
        if self.enough:
            raise _StopEarly


def _no_answer() -> Failure:
    return Failure(kind="exit", message="its process ended without a word")


def _failure(ending: ProcessExit, workspace: Workspace) -> Failure | None:
    """Say why the child did not finish; None if it did."""
    if ending.overrun:
        return Failure(kind="timeout", message=f"took longer than {ending.overrun}")
    if ending.signal:
        why = f", for {ending.kill_reason}" if ending.kill_reason else ""
        return Failure(kind="killed", message=f"was killed by {ending.signal}{why}")
    if ending.result is None and ending.code == NOT_CONFINED:
        return Failure(kind="exit", message="its process could not be sandboxed, so nothing was run in it")
    if ending.result is None:
        return Failure(kind="exit", message=f"ended its process early, with exit code {ending.code}")
    return ending.result.failure and as_told(ending.result.failure, workspace)


def input_file(case: GoldCase, folder: Path) -> Path:
    """Return the file in `folder` with a case's inputs and weights, and write it if it is missing."""
    path = folder / f"{case.name}{case.path.suffix}"
    if not path.exists():
        given = {key: case.data[key] for key in _GIVEN if key in case.data}
        if any(facts.withheld for facts in case.entry.weights.values()):
            given["state_dict"] = _without_withheld(case)
        write_payload(given, folder / case.name, path.suffix)
    return path


def _without_withheld(case: GoldCase) -> Any:
    """Return a case's weights with zeros in place of those that submissions must not be given."""
    facts = case.entry.weights
    weights = {
        model: {
            name: map_tree(_zeros, value) if model in facts and name in facts[model].withheld else value
            for name, value in items.items()
        }
        for model, items in case.initial_weights.items()
    }
    return to_file(weights)


def _zeros(leaf: Any) -> Any:
    import numpy as np

    if is_tensor(leaf):
        return leaf.new_zeros(leaf.shape)
    return np.zeros_like(leaf) if is_array(leaf) else leaf


def recipe_placements(target: Target, adapter: Path | None) -> list[Placement]:
    """Place the course's own recipe and adapter: a submission cannot bring its own."""
    found = [Placement(target.recipe, Path(target.recipe.name))]
    return found + ([Placement(adapter, Path(target.adapter.name))] if adapter else [])

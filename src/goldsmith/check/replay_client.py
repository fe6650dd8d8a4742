"""A child that keeps a stage company and is asked for one run after another. One that dies costs the case it was at;
for the cases after it another takes its place."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.check.replay_results import CaseRuns, ResultReader, with_submission_paths
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.recipe import DeviceMissing
from goldsmith.process.launcher import ProcessExit, Watcher
from goldsmith.process.messages import (
    NOT_CONFINED,
    Event,
    Failure,
    Isolated,
    RunName,
    RunRequest,
)
from goldsmith.process.worker_channel import WorkerChannel

if TYPE_CHECKING:
    from goldsmith.check.replay_workspace import ReplayWorkspace

Until = Callable[[str, CaseRuns], bool]


@dataclass
class ReplayClient:
    """Whoever is asked, on one stage. With `lines`, those are noted that run."""

    stage: ReplayWorkspace
    lines: bool = False
    _talk: WorkerChannel | None = None

    def replay(
        self,
        wanted: Mapping[str, Sequence[RunName]],
        layouts: Mapping[str, str] | None = None,
        until: Until | None = None,
    ) -> dict[str, CaseRuns]:
        """Every case in the ways that are wanted of it, in their order; each has an attempt at least for its first."""
        layouts = layouts or {}
        pending = dict(wanted)
        taking = _Collector(self.stage, dict(wanted), until)
        while pending and not taking.enough:
            asks = [
                RunRequest(case=name, run=run, layout=layouts.get(name, ""))
                for name, runs in pending.items()
                for run in runs
            ]
            is_new = self._talk is None
            taking.leavings = ResultReader(
                self._channel.left, self._channel.next_output, self.stage.workspace, self.stage.taken
            )
            try:
                ended = self._ask(asks, taking.watcher if until else self.stage.watcher)
            except _StopEarly:
                break
            if ended is not None and ended.case is None and not is_new:
                continue  # it was gone before it was asked
            names = list(pending)
            reached = names.index(ended.case) + 1 if ended and ended.case in names else len(names)
            for name in names[:reached]:
                taking.take(name, ended or _no_answer())
                del pending[name]
            if ended is None:
                break
        return taking.found

    def alone(self, case: str, item: Isolated, inputs: Mapping[str, Any], layout: str) -> CaseRuns:
        """A call of a case on `inputs`, which are written where the child can read them now, and not before."""
        from safetensors.numpy import save_file

        talk = self._channel
        file = talk.folder / f"{talk.next_number}.safetensors"
        try:
            save_file({name: tensor.copy() for name, tensor in inputs.items()}, file)
        except Exception as error:  # of safetensors' own
            raise CannotWrite(file, str(error)) from None
        leavings = ResultReader(talk.left, talk.next_output, self.stage.workspace, self.stage.taken)
        ask = RunRequest(case=case, layout=layout, alone=msgspec.structs.replace(item, file=str(file)))
        return leavings.alone(case, self._ask([ask]) or _no_answer())

    def part(self) -> None:
        """Nothing more is asked for."""
        if self._talk is not None:
            self._closed(self._talk.end())

    @property
    def _channel(self) -> WorkerChannel:
        if self._talk is None:
            self._talk = WorkerChannel(self.stage.job(lines=self.lines), self.stage.warm)
        return self._talk

    def _ask(self, asks: Sequence[RunRequest], watcher: Watcher | None = None) -> Failure | None:
        """None once all of it is done; else why it is not, and at which case."""
        stage = self.stage
        cases = len({item.case for item in asks})
        left = stage.allowance.left if stage.allowance else math.inf
        if left <= 0:
            self.part()
            return msgspec.structs.replace(_in_all(stage), case=asks[-1].case)
        timeout = min(stage.options.timeout + stage.each * cases, left)
        try:
            ending = self._channel.submit(
                asks,
                timeout=timeout,
                each=stage.each,
                watcher=watcher or stage.watcher,
                allowance=stage.allowance,
            )
        except BaseException:
            self._talk = None  # it has been ended
            raise
        if ending is None:
            return None
        self._closed(ending)
        failure = _failure(ending) or _no_answer()
        if ending.late and stage.allowance and stage.allowance.left <= 0:
            failure = _in_all(stage)
        believed = stage.options.device != "cpu" and not any(item.alone for item in asks)
        if failure.kind == "device" and ending.last_case is None and believed:
            raise DeviceMissing(stage.options.device, failure.message.split(", "))
        return msgspec.structs.replace(with_submission_paths(failure, stage.workspace), case=ending.last_case)

    def _closed(self, ending: ProcessExit) -> None:
        self._talk = None
        if ending.result is not None:
            self.stage.merge_report(ending.result)


class _StopEarly(Exception):
    """What has been run tells everything that was asked."""


@dataclass
class _Collector:
    """Takes what cases leave behind, at the latest when all is done: with `until`, as each ends."""

    stage: ReplayWorkspace
    wanted: Mapping[str, Sequence[RunName]]
    until: Until | None
    leavings: ResultReader | None = None
    found: dict[str, CaseRuns] = field(default_factory=dict)
    enough: bool = False

    @property
    def watcher(self) -> Watcher:
        return dataclasses.replace(self.stage.watcher, on_case=self._on_case)

    def take(self, name: str, otherwise: Failure) -> None:
        assert self.leavings is not None
        if name not in self.found and not self.enough:
            self.found[name] = self.leavings.of(name, self.wanted[name], otherwise)
            self.enough = self.until is not None and self.until(name, self.found[name])

    def _on_case(self, event: Event) -> None:
        self.stage.watcher.on_case(event)
        cases = list(self.wanted)
        for name in cases[: cases.index(event.case)] if event.case in cases else ():
            self.take(name, _no_answer())
        if self.enough:
            raise _StopEarly


def _in_all(stage: ReplayWorkspace) -> Failure:
    assert stage.allowance is not None
    return Failure(kind="timeout", message=f"took longer than {stage.allowance.limit:g} s in all its runs")


def _no_answer() -> Failure:
    return Failure(kind="exit", message="its process ended without a word")


def _failure(ending: ProcessExit) -> Failure | None:
    """Why the child did not come to its end, None when it did."""
    if ending.late:
        return Failure(kind="timeout", message=f"took longer than {ending.late}")
    if ending.signal:
        why = f", for {ending.why}" if ending.why else ""
        return Failure(kind="killed", message=f"was killed by {ending.signal}{why}")
    if ending.result is None and ending.code == NOT_CONFINED:
        return Failure(kind="exit", message="its process could not be locked in, so nothing was run in it")
    if ending.result is None:
        return Failure(kind="exit", message=f"ended its process early, with exit code {ending.code}")
    return ending.result.failure

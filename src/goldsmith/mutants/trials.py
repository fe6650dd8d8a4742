"""The trial of each mutant as an engine runs it: in this process, or on workers that have nothing of the course.

A worker gets the course's files once, and runs the solution itself before any mutant: what is normal there (time,
memory) is measured there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.check.check_context import CheckContext
from goldsmith.check.course_files import files_to_check_with
from goldsmith.check.request import OpenGold, Request, open_adapter, open_gold
from goldsmith.engines.portable import Parcel
from goldsmith.foundation.ownership import new_token
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.generate.cache_key import PACKAGES
from goldsmith.gold.load import Gold
from goldsmith.mutants.baselines import FindTests
from goldsmith.mutants.mutant_run import MutantRunner
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.results import COULD_NOT_RUN, Finding, finding
from goldsmith.mutants.right_answers import OPERATOR
from goldsmith.mutants.solution_baseline import run_baseline
from goldsmith.mutants.workspace_pool import WorkspacePool
from goldsmith.process.fork_client import fork_server
from goldsmith.process.launcher import Watcher, deterministic_environment
from goldsmith.runs.setting import Setting
from goldsmith.targets.target import Submission, Target


@dataclass(frozen=True, eq=False)
class Trials:
    """Tries mutants of one assignment. What is `known` of some lacks only what other ways of testing make of them."""

    target: Target
    gold: Gold
    setting: Setting
    find_tests: FindTests | None = None
    baselines: bool = False
    known: Mapping[str, Finding] = field(default_factory=dict)
    on_tick: Callable[[], None] = lambda: None
    run: str = field(default_factory=new_token)
    _runners: list[MutantRunner] = field(default_factory=list)

    def __call__(self, mutant: Mutant) -> Finding:
        return _try(self._runners[-1], mutant, self.known.get(mutant.name))

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Run the solution, which must agree with its gold, and keep what all mutants share; once, however often this
        is entered."""
        if self._runners:
            yield
            return
        with running(self) as runner:
            self._runners.append(runner)
            try:
                yield
            finally:
                self._runners.clear()

    def stop(self) -> None:
        for runner in self._runners:
            runner.stopped.set()

    # --- on workers ---------------------------------------------------------------------------------------------------

    def parcel(self) -> Parcel:
        manifest = self.gold.manifest
        assert self.target.resolve is not None
        return Parcel(
            run=self.run,
            files=files_to_check_with(self.target, manifest),
            versions=tuple(sorted({*PACKAGES, *manifest.provenance.environment.libraries})),
            open=functools.partial(open_trials, self.target.resolve, self.target.device, self.setting),
        )

    @contextlib.contextmanager
    def sending(self, mutant: Mutant) -> Iterator[SentMutant]:
        yield SentMutant(mutant)


@dataclass(frozen=True)
class SentMutant:
    """A mutant that a worker tries."""

    order: Mutant

    @property
    def size(self) -> int:
        return len(self.order.content)

    def received(self, content: bytes) -> Finding:
        found = msgspec.msgpack.decode(content, type=Finding)
        if (found.name, found.operator) != (self.order.name, self.order.operator):
            raise msgspec.ValidationError("it is about another mutant")
        return found

    def failed(self, why: str) -> Finding:
        return finding(self.order, COULD_NOT_RUN, reason=why)


def open_trials(resolve: Callable[[Path], Target], device: str, setting: Setting, folder: Path) -> TrialPlace:
    """Return what tries mutants on a worker, with the course's files in `folder`."""
    target = dataclasses.replace(resolve(folder), device=device)
    gold = open_gold(target, Submission("the solution"), allow_stale=True)  # it was fresh enough there
    with contextlib.ExitStack() as stack:
        runner = stack.enter_context(running(Trials(target, gold, setting)))
        return TrialPlace(runner, stack.pop_all())


@dataclass(frozen=True)
class TrialPlace:
    """Tries mutants on a worker."""

    runner: MutantRunner
    closing: contextlib.ExitStack

    def perform(self, mutant: Mutant, folder: Path) -> bytes:
        return msgspec.msgpack.encode(_try(self.runner, mutant, None))

    def stop(self) -> None:
        self.runner.stopped.set()

    def close(self) -> None:
        self.closing.close()


@contextlib.contextmanager
def running(trials: Trials) -> Iterator[MutantRunner]:
    """Open what all mutants share on this machine, after checking that the solution agrees with its gold."""
    target, gold, placed = trials.target, trials.gold, trials.target.placed
    with fork_server(preload=gold.manifest.provenance.environment.libraries) as server:
        server.prestart(deterministic_environment(target.threads))
        adapter, file = open_adapter(target)
        request = Request(watcher=Watcher(on_tick=trials.on_tick), fork_server=server, setting=trials.setting)
        opened = OpenGold(gold, {name: gold[name] for name in gold}, adapter, file)
        checking = CheckContext(target, opened, request, server)
        with run_baseline(checking, placed) as baseline:
            if trials.find_tests:
                server.preload_modules(["pytest"])
            tests = trials.find_tests(target, placed, server) if trials.find_tests else None
            with WorkspacePool(checking, placed, baseline.given) as pool:
                yield MutantRunner(checking, baseline, pool, placed, tests, trials.baselines)


def _try(runner: MutantRunner, mutant: Mutant, known: Finding | None) -> Finding:
    """Run one mutant; turn an error of ours into a finding without a verdict, so that the others go on."""
    try:
        if mutant.operator == OPERATOR:
            return runner.accepted(mutant)
        if known is not None:
            return msgspec.structs.replace(known, beside=runner.baselines(mutant))
        return runner.of(mutant)
    except Exception as error:
        return finding(mutant, COULD_NOT_RUN, reason=str(error) or type(error).__name__)


prepare_types(Finding)

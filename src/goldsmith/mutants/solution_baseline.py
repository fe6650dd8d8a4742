"""The solution, run as its mutants will be. It must agree with its gold, or mutants could not be judged."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import INPUTS_DIR, RUNS, ReplayWorkspace
from goldsmith.doctor import processors
from goldsmith.errors.mutants import SolutionDisagrees
from goldsmith.judge.verdicts import AGREES
from goldsmith.mutants.mutants import Mutant
from goldsmith.runs.conditions import COVERAGE, PERTURBED, Perturbation
from goldsmith.runs.run import CaseRuns, Place
from goldsmith.sandbox.limits import Limits
from goldsmith.targets.target import Placement

_TIMEOUT_FACTOR, _MIN_TIMEOUT_S = 10.0, 5.0  # times the slowest case of the solution; seconds
_EXTRA_MEMORY_BYTES = 2**30  # bytes of memory on top of twice the solution's peak
_MIN_FILE_BYTES = 2**28  # bytes
_QUICK_S = 1.0  # seconds

PlacesByFile = Mapping[str, tuple[Sequence[Place], Sequence[Place]]]


@dataclass
class SolutionBaseline:
    """What is known from the solution's own runs.

    `places` are the places by file that each case runs and does not run, None where that could not be traced; `layouts`
    are the other weight layouts that each case has to be tried in.
    """

    stage: ReplayWorkspace
    replays: Mapping[str, CaseRuns]
    places: Mapping[str, PlacesByFile | None]
    layouts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _under: dict[str, CaseRuns] = field(default_factory=dict)
    _running: threading.Lock = field(default_factory=threading.Lock)

    def seconds(self, case: str) -> float:
        return sum(item.facts.seconds for item in self.replays[case].runs.values())

    def cases_of(self, mutant: Mutant) -> list[str]:
        """Return the cases that run the mutated place, the smallest first. Which case sees a mutant first, and whether
        it fails there or differs, must not depend on how long anything took."""
        file = mutant.file.as_posix()
        found = [name for name, places in self.places.items() if places is None or _runs(places.get(file), mutant)]
        return sorted(found, key=self._size)

    def _size(self, case: str) -> tuple[int, int, int]:
        entry = self.stage.golds[case].entry
        return len(self.layouts.get(case, ())), len(entry.runs), entry.calls

    def quick(self, cases: Sequence[str]) -> list[str]:
        """Return those cases that are quick enough to be run many times; at least one."""
        return [name for name in cases if self.seconds(name) < _QUICK_S] or list(cases[:1])

    @property
    def time_limit(self) -> float:
        """Return the seconds for one case of a mutant: 10 times the solution's slowest, or the general limit."""
        slowest = max(map(self.seconds, self.replays), default=0.0)
        return max(2 * slowest, min(self.stage.case_timeout, max(_MIN_TIMEOUT_S, _TIMEOUT_FACTOR * slowest)))

    @property
    def limits(self) -> Limits:
        """Return a mutant's limits: much more than the solution uses, much less than a machine has."""
        given = sum(file.stat().st_size for file in self.given.iterdir())
        memory = (
            2 * self.stage.peak + _EXTRA_MEMORY_BYTES if self.stage.peak and self.stage.target.device == "cpu" else None
        )
        return Limits(memory=memory, file_size=max(_MIN_FILE_BYTES, 4 * given))

    @property
    def given(self) -> Path:
        return self.stage.workspace.scratch / INPUTS_DIR

    def placed(self, mutant: Mutant) -> Placement:
        """Write the mutant's file into scratch space, where nothing of the solution remains even after `kill -9`."""
        folder = self.stage.workspace.scratch / "mutants"
        folder.mkdir(exist_ok=True)
        file = folder / f"{mutant.digest}{mutant.file.suffix}"
        file.write_bytes(mutant.content)
        return Placement(file, mutant.file)

    def under_conditions(self, cases: Sequence[str]) -> Mapping[str, CaseRuns]:
        """Return the solution's runs of these cases under every condition, each case run only once."""
        with self._running:
            missing = [name for name in cases if name not in self._under]
            self._under |= self.stage.replay(missing, tuple(PERTURBED.values()))
            return {name: self._under[name] for name in cases}


def shown_under(replay: CaseRuns, condition: Perturbation) -> Mapping[str, Any] | None:
    """Return what was recorded under a condition, None where it does not apply or the run failed."""
    run = replay.runs.get(condition)
    showed = run is not None and run.failure is None and run.facts.applied
    return replay.values(condition) if showed else None


@contextlib.contextmanager
def run_baseline(checking: CheckContext, placed: Sequence[Placement]) -> Iterator[SolutionBaseline]:
    """Run the solution on every case, and keep its workspace until the context is left."""
    with checking.open_workspace(placed) as stage:
        cases = [name for name in checking.golds if checking.judge.criteria(name).can_be_judged]
        strategy = checking.strategy(stage)
        for name, verdict in strategy.judge_runs(stage.replay(cases, RUNS)).items():
            if verdict.outcome != AGREES:
                raise SolutionDisagrees(checking.target.name, name, verdict.reason)
        with ThreadPoolExecutor(processors()) as pool:
            # Each case alone: one may cache something, so that the next would not run the same lines.
            traced = dict(zip(cases, pool.map(lambda name: _places(stage, name), cases), strict=True))
        checking.fork_server.preload_modules(sorted(stage.packages))
        yield SolutionBaseline(
            stage, strategy.replays, traced, {name: checking.judge.layouts_of(name) for name in cases}
        )


def _places(stage: ReplayWorkspace, case: str) -> PlacesByFile | None:
    return stage.replay([case], (COVERAGE,))[case].runs["coverage"].facts.coverage


def _runs(places: tuple[Sequence[Place], Sequence[Place]] | None, mutant: Mutant) -> bool:
    """Say whether an instruction inside the mutated place runs; where there is none, whether its statement does."""
    if places is None:
        return False
    ran, missed = places
    first, last = mutant.span

    def inside(place: Place) -> bool:
        return first <= place < last

    if any(map(inside, ran)) or not any(map(inside, missed)):
        return any(mutant.lines[0] <= line <= mutant.lines[1] for line, _ in ran)
    return False

"""The solution itself, run as its mutants will be: it must agree with its gold, or nothing could be said of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_results import CaseRuns
from goldsmith.check.replay_workspace import INPUTS_DIR, RUNS, ReplayWorkspace
from goldsmith.check.verdicts import AGREES
from goldsmith.course.solutions import Placement
from goldsmith.doctor import processors
from goldsmith.errors.mutants import SolutionDisagrees
from goldsmith.mutants.mutants import Mutant
from goldsmith.process.messages import PERTURBATIONS, Perturbation, Place
from goldsmith.sandbox.limits import Limits

_PATIENCE, _LEAST_TIME = 10.0, 5.0
_ROOM = 2**30
_LEAST_FILE = 2**28
_QUICK = 1.0
_LAUNCH = 0.1
"""About what it takes to try a case once more, its weights in another layout."""

PlacesByFile = Mapping[str, tuple[Sequence[Place], Sequence[Place]]]


@dataclass
class SolutionBaseline:
    """What is known about the solution's own runs. `seconds` is how long each case took, in all its runs; `places`
    are those that each case runs and those that it does not, by file, None where that could not be watched; `layouts`
    are those of weights that each case would have to be tried in as well."""

    stage: ReplayWorkspace
    replays: Mapping[str, CaseRuns]
    places: Mapping[str, PlacesByFile | None]
    layouts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _under: dict[str, CaseRuns] = field(default_factory=dict)
    _running: threading.Lock = field(default_factory=threading.Lock)

    def seconds(self, case: str) -> float:
        return sum(item.seconds for item in self.replays[case].attempts.values())

    def cases_of(self, mutant: Mutant) -> list[str]:
        """Cases that run the place in question, the quickest first."""
        file = mutant.file.as_posix()
        found = [name for name, places in self.places.items() if places is None or _runs(places.get(file), mutant)]
        return sorted(found, key=lambda name: self.seconds(name) + _LAUNCH * len(self.layouts.get(name, ())))

    def quick(self, cases: Sequence[str]) -> list[str]:
        """Those of them that can be run many times over; at least one."""
        return [name for name in cases if self.seconds(name) < _QUICK] or list(cases[:1])

    @property
    def time_limit(self) -> float:
        """For one case of a mutant: much longer than the solution takes, but no longer than any case may."""
        slowest = max(map(self.seconds, self.replays), default=0.0)
        return max(2 * slowest, min(self.stage.each, max(_LEAST_TIME, _PATIENCE * slowest)))

    @property
    def limits(self) -> Limits:
        """What a mutant may use: much more than the solution does, much less than a machine has."""
        given = sum(file.stat().st_size for file in self.given.iterdir())
        memory = 2 * self.stage.peak + _ROOM if self.stage.peak and self.stage.options.device == "cpu" else None
        return Limits(memory=memory, file_size=max(_LEAST_FILE, 4 * given))

    @property
    def given(self) -> Path:
        return self.stage.workspace.scratch / INPUTS_DIR

    def placed(self, mutant: Mutant) -> Placement:
        """The mutant's file, where no solution is left lying about even after `kill -9`."""
        folder = self.stage.workspace.scratch / "mutants"
        folder.mkdir(exist_ok=True)
        file = folder / f"{mutant.digest}{mutant.file.suffix}"
        file.write_bytes(mutant.content)
        return Placement(file, mutant.file)

    def under_conditions(self, cases: Sequence[str]) -> Mapping[str, CaseRuns]:
        """The solution under every condition, in these cases."""
        with self._running:
            missing = [name for name in cases if name not in self._under]
            self._under |= self.stage.replay(missing, PERTURBATIONS)
            return {name: self._under[name] for name in cases}


def shown_under(replay: CaseRuns, condition: Perturbation) -> dict[str, Any] | None:
    """What was recorded under a condition, None where it cannot run so or nothing came of it."""
    attempt = replay.attempts.get(condition)
    showed = attempt is not None and attempt.failure is None and attempt.applied
    return replay.leaves(condition) if showed else None


@contextlib.contextmanager
def run_baseline(checking: CheckContext, placed: Sequence[Placement]) -> Iterator[SolutionBaseline]:
    """The solution on every case, as long as this lasts."""
    with checking.open_workspace(placed) as stage:
        cases = list(checking.golds)
        strategy = checking.strategy(stage)
        for name, verdict in strategy.judge_runs(stage.replay(cases, RUNS)).items():
            if verdict.outcome != AGREES:
                raise SolutionDisagrees(checking.assignment.name, name, verdict.reason)
        with ThreadPoolExecutor(processors()) as pool:
            # Each case alone: one may leave something behind that spares the next its work.
            traced = dict(zip(cases, pool.map(lambda name: _places(stage, name), cases), strict=True))
        checking.warm.preload_modules(sorted(stage.packages))
        yield SolutionBaseline(
            stage, strategy.replays, traced, {name: checking.judge.layouts_of(name) for name in cases}
        )


def _places(stage: ReplayWorkspace, case: str) -> PlacesByFile | None:
    return stage.replay([case], ("coverage",))[case].attempts["coverage"].places


def _runs(places: tuple[Sequence[Place], Sequence[Place]] | None, mutant: Mutant) -> bool:
    """Whether an instruction runs that stands in the place; where none stands there, whether its statement does."""
    if places is None:
        return False
    ran, missed = places
    first, last = mutant.span

    def inside(place: Place) -> bool:
        return first <= place < last

    if any(map(inside, ran)) or not any(map(inside, missed)):
        return any(mutant.lines[0] <= line <= mutant.lines[1] for line, _ in ran)
    return False

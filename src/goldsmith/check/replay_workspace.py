"""A stage: a workspace with a submission in it, and what children that run its cases there are given and left with.
They know nothing of gold's outputs."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.check.replay_client import ReplayClient, Until
from goldsmith.check.replay_results import CaseRuns, Taken
from goldsmith.course.forbidden import MOST_USES
from goldsmith.course.layout import Assignment
from goldsmith.course.solutions import Placement
from goldsmith.generate.jobs import make_job
from goldsmith.generate.options import Options
from goldsmith.gold.files import write_payload
from goldsmith.gold.load import GoldCase
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import ForkServer
from goldsmith.process.launcher import Watcher
from goldsmith.process.messages import (
    Job,
    KeptCase,
    Limits,
    Result,
    RunName,
)
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement
from goldsmith.workspace.copies import Workspace

RUNS: tuple[RunName, ...] = ("once", "again", "float64")
INPUTS_DIR = "given"
_GIVEN = ("input", "state_dict")


@dataclass(frozen=True)
class SandboxPolicy:
    """How submissions are locked in: what this machine can do, and what every one of them is left with."""

    level: Level
    confinement: Confinement


@dataclass
class ReplayWorkspace:
    """A workspace with a submission in it, in which its cases can be run as often as need be."""

    assignment: Assignment
    workspace: Workspace
    options: Options
    golds: Mapping[str, GoldCase]
    adapter: bool
    each: float
    watcher: Watcher
    warm: ForkServer
    limits: Limits = field(default_factory=Limits)
    confined: SandboxPolicy | None = None
    stand_ins: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    stubs_used: set[str] = field(default_factory=set)
    sightings: dict[tuple[str, str], None] = field(default_factory=dict)
    given: Path | None = None
    allowance: Allowance | None = None
    taken: Taken = field(default_factory=Taken)
    peak: int = 0
    packages: set[str] = field(default_factory=set)
    _launches: int = 0

    def __post_init__(self) -> None:
        if self.confined is not None and self.confined.confinement.disk is not None:
            self.taken.most = 2 * self.confined.confinement.disk  # what lay there at once, and as much again

    def replay(
        self, cases: Sequence[str], runs: Sequence[RunName] = RUNS, layout: str = "", until: Until | None = None
    ) -> dict[str, CaseRuns]:
        """Every case in every way, in a child of its own; each has an attempt at least for its first run.

        Each is shown to `until` as soon as it has ended; once that says so, those after it are not run.
        """
        with self.company(lines="lines" in runs) as company:
            return company.replay(dict.fromkeys(cases, runs), dict.fromkeys(cases, layout), until)

    @contextlib.contextmanager
    def company(self, *, lines: bool = False) -> Iterator[ReplayClient]:
        """As long as this lasts, a child can be asked for one run after another."""
        company = ReplayClient(self, lines)
        try:
            yield company
        finally:
            company.part()

    def merge_report(self, result: Result) -> None:
        """What a child has to say at its end."""
        self.peak = max(self.peak, result.peak)
        self.packages |= set(result.packages)
        self.stubs_used |= set(result.stand_ins) & set(self.stand_ins)
        self.sightings |= dict.fromkeys(result.forbidden[:MOST_USES])

    def job(self, *, lines: bool = False) -> Job:
        """For a child that is asked for runs of any case."""
        self._launches += 1
        job = make_job(self.assignment, self.workspace, self.options, task="replay")
        adapter = self.workspace.folder / self.assignment.course.config.adapter
        scratch = self.workspace.scratch / f"{self._launches}-{secrets.token_hex(4)}"
        scratch.mkdir()
        job = msgspec.structs.replace(
            job,
            output=str(scratch / "out"),
            scratch=str(scratch),
            requests_dir=str(scratch.with_name(f"{scratch.name}.asks")),
            lines=lines,
            kept=self.write_inputs(),
            adapter=str(adapter) if self.adapter else "",
            limits=self.limits,
            written=self.written,
            stand_ins=self.stand_ins,
            forbidden=self.assignment.forbidden,
        )
        return msgspec.structs.replace(job, **self._walls(job)) if self.confined else job

    def _walls(self, job: Job) -> dict[str, Any]:
        """One child may read its own workspace and what it is given, and write into the workspace and its scratch."""
        assert self.confined is not None
        given = (*(item.file for item in job.kept.values()), job.requests_dir)
        confinement = msgspec.structs.replace(
            self.confined.confinement,
            home=str(Path(job.scratch, "home")),
            readable=(*self.confined.confinement.readable, *given),
            writable=(str(self.workspace.root), job.scratch),
        )
        return {"confinement": confinement, "level": self.confined.level}

    def write_inputs(self) -> dict[str, KeptCase]:
        """Gold's inputs and weights in files of their own: nothing else of gold enters the workspace. Where they have
        been written before they are copied, or, where nobody could change them, shared."""
        folder = self.workspace.scratch / INPUTS_DIR
        if self.confined is not None and self.given is not None:
            folder = self.given
        elif not folder.exists():
            folder.mkdir()
            for file in sorted(self.given.iterdir()) if self.given else ():
                shutil.copyfile(file, folder / file.name)
        return {
            name: KeptCase(
                file=str(input_file(case, folder)),
                inputs=case.entry.inputs,
                models=case.entry.models,
                weights=case.entry.weights,
            )
            for name, case in self.golds.items()
        }


def input_file(case: GoldCase, folder: Path) -> Path:
    """What a case gives away of its gold, in `folder`, written there unless it is."""
    path = folder / f"{case.name}{case.path.suffix}"
    if not path.exists():
        write_payload({key: case.data[key] for key in _GIVEN if key in case.data}, folder / case.name, path.suffix)
    return path


def recipe_placements(assignment: Assignment, adapter: Path | None) -> list[Placement]:
    """The course's own recipe and adapter: a submission cannot bring its own."""
    config = assignment.course.config
    found = [Placement(assignment.recipe, Path(config.recipe))]
    return found + ([Placement(adapter, Path(config.adapter))] if adapter else [])

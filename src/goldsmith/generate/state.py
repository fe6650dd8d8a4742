"""The state of one run of the nine steps; it becomes the `Outcome`, whether they succeed or not."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CopyDisagrees, GoldRefused, TreeChanged
from goldsmith.errors.recipe import RecipeRaised
from goldsmith.generate.options import Options
from goldsmith.generate.outcome import PUBLISHED, MadeFile, Outcome, Trouble
from goldsmith.generate.previous_gold import MachineNoise, PreviousGold
from goldsmith.generate.refusals import is_refused
from goldsmith.generate.sources import UnchangedProof
from goldsmith.gold.advice import Advice
from goldsmith.gold.checks import Check
from goldsmith.gold.diff import TensorChange
from goldsmith.gold.manifest import README, FileEntry
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.process.messages import ImportedCode
from goldsmith.source_code.case_code import CaseCode
from goldsmith.targets.target import Kind, Placement, Target

STEPS = {
    number: f"{number}/9 {name}"
    for number, name in enumerate(
        ("choose", "plan", "inject", "seed", "generate", "verify", "document", "reset", "summary"), start=1
    )
}
"""What is shown of a step while it is under way."""
COPY_NAMES: dict[Kind, str] = {
    "assignment": "a copy of the solution",
    "recipe": "the implementation that it was recorded from",
}
"""What is checked against new gold before it is published."""


class CheckSolution(Protocol):
    """A function that replays a copy of the solution against unpublished gold and raises if it does not agree, and
    returns what there is to note about that. Its implementation is in a layer above this package."""

    def __call__(
        self,
        target: Target,
        options: Options,
        folder: Path,
        placed: Sequence[Placement],
        *,
        fork_server: ForkClient | None,
        watcher: Watcher,
    ) -> str: ...


@dataclass
class GenerationState:
    """Everything known so far; becomes the `Outcome`, whether the steps succeed or not."""

    target: Target
    options: Options
    untouched: UnchangedProof
    previous: PreviousGold
    """The gold that is there when the run begins, read once."""
    code: CaseCode = field(default_factory=lambda: CaseCode("", {}))
    outcome: str = PUBLISHED
    files: list[FileEntry] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changes: list[TensorChange] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    noise: MachineNoise | None = None
    environment: tuple[str, ...] = ()
    redrawn: dict[str, str] = field(default_factory=dict)
    file_changes: dict[str, str] = field(default_factory=dict)
    is_dry: bool = False
    unmeasured: set[str] = field(default_factory=set)
    """Cases whose tolerances a dry run does not measure."""
    log: str = ""
    seconds: float = 0.0
    fork_server: ForkClient | None = None
    implementations: list[ImportedCode] = field(default_factory=list)
    """What the two runs ran on, where they ran in place."""
    check_solution: CheckSolution | None = None
    is_drafted: bool = False
    """Whether this run has written the recipe."""

    @classmethod
    def begin(
        cls,
        target: Target,
        options: Options,
        *,
        is_dry: bool = False,
        check_solution: CheckSolution | None = None,
    ) -> GenerationState:
        """Start a run that has not read the previous gold yet."""
        return cls(
            target,
            options,
            UnchangedProof.begin(target),
            PreviousGold(target.gold, None),
            is_dry=is_dry,
            check_solution=check_solution,
        )

    def begin_again(self) -> None:
        """Forget what was found with a drafted recipe that has been changed since; keep what was said about it."""
        self.target = self.target.again()
        self.untouched = self.untouched.with_written(self.target.recipe)
        self.checks, self.files, self.advice, self.notes = [], [], [], self.notes[:1]

    def check_copy(self, folder: Path, placed: Sequence[Placement], watcher: Watcher) -> None:
        """Check a copy of the solution against the gold in `folder`, and note what there is to note about that."""
        assert self.check_solution is not None
        note = self.check_solution(
            self.target, self.options, folder, placed, fork_server=self.fork_server, watcher=watcher
        )
        self.notes += [note] if note else []

    def refuse_changed(self) -> None:
        """Raise `TreeChanged` if starter or solution are no longer what they were when the run began."""
        changes = self.untouched.changes()
        if changes:
            raise TreeChanged(changes)


def outcome_of(run: GenerationState, error: GoldsmithError | None, seconds: float) -> Outcome:
    target = run.target
    folder = target.gold_place
    made = (
        MadeFile(
            f"{folder}/{item.name}",
            error is None or error.outcome == "stale" or not is_refused(error, item.name),
            run.file_changes.get(item.name, "same"),
            item.size,
            item.sha256,
        )
        for item in run.files
    )
    return Outcome(
        name=target.name,
        label=target.label,
        kind=target.kind,
        outcome=error.outcome if error else run.outcome,
        seed=run.options.seed,
        folder=folder,
        files=tuple(made),
        checks=tuple(run.checks),
        reset=not run.untouched.changes(),
        notes=tuple(run.notes),
        changes=tuple(run.changes),
        noise=run.noise,
        environment=run.environment,
        redrawn=run.redrawn,
        advice=tuple(run.advice),
        next=() if error else _next_steps(target, folder),
        error=_trouble(run, error) if error else None,
        exit_code=error.exit_code if error else 0,
        seconds=round(seconds, 3),
    )


def _trouble(run: GenerationState, error: GoldsmithError) -> Trouble:
    return Trouble(
        kind=error.kind,
        message=str(error),
        problems=tuple(error.problems) if isinstance(error, GoldRefused) else (),
        trace=tuple(error.trace) if isinstance(error, RecipeRaised) else (),
        report=error.report if isinstance(error, CopyDisagrees) else "",
        prints=run.log,
    )


def _next_steps(target: Target, folder: str) -> tuple[str, ...]:
    if target.kind == "recipe":
        read = f"cat {shlex.quote(f'{folder}/{README}')}"
        return (read, f'goldsmith.load("{folder}")', f"goldsmith check {shlex.quote(target.name)}")
    return (
        f"cat {folder}/{README}",
        f'goldsmith.load("{target.name}")',
        f"goldsmith test {target.name}",
    )

"""Differences, tensor by tensor, that regenerating would make in an assignment's gold, or since a revision."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.errors.gold import Failed, UnknownRevision
from goldsmith.foundation.git import error_line, run_git
from goldsmith.foundation.wording import count_of
from goldsmith.generate.previous_gold import MachineNoise
from goldsmith.generate.verify import dry_run_as_recorded, recorded_options
from goldsmith.gold.diff import TensorChange, gold_changes
from goldsmith.process.progress import Progress
from goldsmith.targets.target import Target
from goldsmith.workspace.temporary import private_folder


class PointsChange(msgspec.Struct, frozen=True, kw_only=True):
    """How many submissions of the class that was graded last change their points, by the present rubric."""

    changed: int
    """How many do, of those whose verdicts are known."""
    known: int
    """Of how many verdicts are known under both golds, by the last run or cached."""
    submissions: int
    """How many there are."""


class GoldDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What would change, or has changed, in the gold of one assignment."""

    name: str
    """The assignment."""
    outcome: Literal["stale", "unchanged"]
    """`stale` where a tensor differs."""
    revision: str | None = None
    """The git revision that was compared with; null where the recipe was run again."""
    changes: tuple[TensorChange, ...]
    """Each tensor that differs."""
    notes: tuple[str, ...] = ()
    """What is worth knowing, though nothing is wrong."""
    noise: MachineNoise | None = None
    """Tensors that came out in other bits here, within noise, so that the gold stays; null where none did."""
    environment: tuple[str, ...] = ()
    """What is different about this machine from the one that recorded the gold, as far as it is known."""
    redrawn: dict[str, str] = {}
    """Cases that drew inputs or weights again instead of using recorded ones, with the reason."""
    points: PointsChange | None = None
    """Whose points that changes; null where no verdicts are known."""

    @property
    def points_words(self) -> str:
        """Say for how many submissions it matters, as far as that is known; empty where it is not."""
        if self.points is None:
            return ""
        known, whole = self.points.known, self.points.submissions
        rest = "" if known == whole else f" ({whole - known} more have no verdict by both)"
        would = "change" if self.revision else "would change"
        return f"{self.points.changed} of {count_of(known, 'submission')} {would} their points{rest}"


Points = Callable[[Path], PointsChange | None]
"""Says how many points another gold changes, which lies in a folder."""


def difference_since(target: Target, revision: str, points: Points = lambda gold: None) -> GoldDifference:
    """Compare the gold with that of a git revision."""
    with private_folder() as folder:
        before = _gold_at_revision(target, revision, folder)
        changes = tuple(gold_changes(before, target.gold))
        changed = points(before) if changes else None
    outcome: Literal["stale", "unchanged"] = "stale" if changes else "unchanged"
    return GoldDifference(name=target.name, outcome=outcome, revision=revision, changes=changes, points=changed)


def difference_by_regenerating(
    target: Target, progress: Progress, *, exact: bool, redraw: bool, points: Points = lambda gold: None
) -> GoldDifference:
    """Run the recipe again with the options that the gold was made with, and compare."""
    options = msgspec.structs.replace(recorded_options(target), exact=exact, redraw=redraw)
    with private_folder() as folder:
        made, _ = dry_run_as_recorded(target, options, progress, folder)
        changed = points(folder / "gold") if made.changes else None
    if made.error is not None and made.outcome != "stale":
        raise Failed(made.error.message)
    return GoldDifference(
        name=target.name,
        outcome="stale" if made.changes else "unchanged",
        changes=made.changes,
        notes=made.notes,
        noise=made.noise,
        environment=made.environment,
        redrawn=made.redrawn,
        points=changed,
    )


def _gold_at_revision(target: Target, revision: str, folder: Path) -> Path:
    """Extract the gold committed in `revision` to `folder`, and return its path."""
    project = target.project
    place = project.relative(target.gold)
    archive = folder / "gold.tar"
    answer = run_git(project.root, "archive", f"--output={archive}", revision, "--", place.as_posix())
    if answer.returncode:
        raise UnknownRevision(revision, place, error_line(answer))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / place

"""Differences, tensor by tensor, that regenerating would make in an assignment's gold, or since a revision."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.errors.gold import Failed, UnknownRevision
from goldsmith.foundation.git import error_line, run_git
from goldsmith.generate.previous_gold import MachineNoise
from goldsmith.generate.verify import dry_run_as_recorded, recorded_options
from goldsmith.gold.diff import TensorChange, gold_changes
from goldsmith.process.progress import Progress
from goldsmith.targets.target import Target
from goldsmith.workspace.temporary import private_folder


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


def difference_since(target: Target, revision: str) -> GoldDifference:
    """Compare the gold with that of a git revision."""
    with private_folder() as folder:
        changes = tuple(gold_changes(_gold_at_revision(target, revision, folder), target.gold))
    outcome: Literal["stale", "unchanged"] = "stale" if changes else "unchanged"
    return GoldDifference(name=target.name, outcome=outcome, revision=revision, changes=changes)


def difference_by_regenerating(target: Target, progress: Progress, *, exact: bool, redraw: bool) -> GoldDifference:
    """Run the recipe again with the options that the gold was made with, and compare."""
    options = msgspec.structs.replace(recorded_options(target), exact=exact, redraw=redraw)
    with private_folder() as folder:
        made, _ = dry_run_as_recorded(target, options, progress, folder)
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

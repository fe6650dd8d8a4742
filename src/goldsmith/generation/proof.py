"""Is published gold still sound, and does its recipe still make it? The facts behind `goldsmith verify`."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import msgspec

from goldsmith.course import Assignment
from goldsmith.errors import AGAINST, COULD_NOT_RUN, GoldUnreadable
from goldsmith.generation.freshness import environment_differences
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import REFUSED, UNCHANGED, Trouble
from goldsmith.generation.progress import Progress
from goldsmith.generation.steps import rehearse
from goldsmith.gold import MANIFEST, Advice, Check, TensorChange, inspect_gold, read_manifest


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `reproduced` is None when the recipe was not run again."""

    name: str
    outcome: str
    checks: tuple[Check, ...] = ()
    advice: tuple[Advice, ...] = ()
    reproduced: bool | None = None
    changes: tuple[TensorChange, ...] = ()
    environment: tuple[str, ...] = ()
    error: Trouble | None = None
    exit_code: int = 0

    @property
    def within_tolerance(self) -> bool:
        return all(change.excess is not None and change.excess <= 1 for change in self.changes)


def prove(assignment: Assignment) -> Proof:
    """Read the gold back and check all of it again, without running anything."""
    if not (assignment.gold / MANIFEST).is_file():
        return Proof(name=assignment.name, outcome="missing", exit_code=COULD_NOT_RUN)
    checks = tuple(inspect_gold(assignment.gold))
    advice = read_manifest(assignment.gold).advice if checks[0].ok else ()
    if not all(check.ok for check in checks):
        return Proof(name=assignment.name, outcome=REFUSED, checks=checks, advice=advice, exit_code=AGAINST)
    return Proof(name=assignment.name, outcome=UNCHANGED, checks=checks, advice=advice)


def reproduce(proof: Proof, assignment: Assignment, progress: Progress) -> Proof:
    """Sound gold beside what its recipe makes now, bit for bit; nothing is written into the course."""
    if proof.outcome != UNCHANGED:
        return proof
    with tempfile.TemporaryDirectory(prefix="gold-verify-") as folder:
        gold = Path(folder, "gold")
        made = rehearse(assignment, recorded_options(assignment), progress, gold)
        ran = made.outcome in (UNCHANGED, "stale")
        if ran and not made.changes:
            return msgspec.structs.replace(proof, reproduced=True)
        return msgspec.structs.replace(
            proof,
            outcome="stale",
            reproduced=False,
            changes=made.changes,
            environment=tuple(environment_differences(assignment.gold, gold)) if ran else (),
            error=None if ran else made.error,
            exit_code=AGAINST if ran else COULD_NOT_RUN,
        )


def recorded_options(assignment: Assignment) -> Options:
    """Options as the gold was made with, as far as its manifest tells; else the course's."""
    config = assignment.course.config
    seed, device = config.seed, "cpu"
    with contextlib.suppress(GoldUnreadable):
        made = read_manifest(assignment.gold).provenance
        seed, device = made.seed, made.environment.device.partition(" ")[0]
    return Options(seed=seed, threads=config.threads, timeout=config.timeout, device=device)

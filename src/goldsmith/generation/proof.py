"""Is published gold still sound, and does its recipe still make it? The facts behind `goldsmith verify`."""

from __future__ import annotations

import contextlib

import msgspec

from goldsmith.comparison import judge
from goldsmith.course import Assignment, placements
from goldsmith.errors import AGAINST, COULD_NOT_RUN, GoldsmithError, GoldUnreadable
from goldsmith.generation.freshness import environment_differences
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import REFUSED, UNCHANGED, Trouble
from goldsmith.generation.progress import Progress
from goldsmith.generation.replaying import replay
from goldsmith.generation.steps import rehearse
from goldsmith.gold import MANIFEST, Advice, Check, TensorChange, inspect_gold, load_gold, read_manifest
from goldsmith.workspace import make_room


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `reproduced` is None when the recipe was not run again; when it was and bits differ,
    `within_tolerance` says whether the solution still computes the gold from the gold's own inputs and weights."""

    name: str
    """The assignment."""
    outcome: str
    """`unchanged` where the gold is sound, `refused` where it is not, `missing` where there is none."""
    checks: tuple[Check, ...] = ()
    """Every check, in order."""
    advice: tuple[Advice, ...] = ()
    """Where a case is blind by construction."""
    reproduced: bool | None = None
    """Whether the recipe made the same bits again; null where it was not run."""
    changes: tuple[TensorChange, ...] = ()
    """Tensors that came out otherwise."""
    within_tolerance: bool | None = None
    """Whether the solution still computes the gold from its own inputs and weights; null where that was not asked."""
    environment: tuple[str, ...] = ()
    """What is different about this machine."""
    error: Trouble | None = None
    """Why the recipe could not be run again; null where it could."""
    exit_code: int = 0
    """The exit code of this assignment alone."""


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
    with make_room() as room:
        gold = room / "gold"
        made = rehearse(assignment, recorded_options(assignment), progress, gold)
        ran = made.outcome in (UNCHANGED, "stale")
        if ran and not made.changes:
            return msgspec.structs.replace(proof, reproduced=True)
        return msgspec.structs.replace(
            proof,
            outcome="stale",
            reproduced=False,
            changes=made.changes,
            within_tolerance=_agrees(assignment) if ran else None,
            environment=tuple(environment_differences(assignment.gold, gold)) if ran else (),
            error=None if ran else made.error,
            exit_code=AGAINST if ran else COULD_NOT_RUN,
        )


def _agrees(assignment: Assignment) -> bool:
    """Another machine may draw other numbers; from the same ones it must compute the same."""
    gold = load_gold(assignment.gold)
    try:
        found = replay(assignment, placements(assignment), recorded_options(assignment), gold)
    except GoldsmithError:
        return False
    return all(judge(payload, gold[name]).agrees for name, payload in found.items())


def recorded_options(assignment: Assignment) -> Options:
    """Options as the gold was made with, as far as its manifest tells; else the course's."""
    config = assignment.course.config
    seed, device = config.seed, "cpu"
    with contextlib.suppress(GoldUnreadable):
        made = read_manifest(assignment.gold).provenance
        seed, device = made.seed, made.environment.device.partition(" ")[0]
    return Options(seed=seed, threads=config.threads, timeout=config.timeout, device=device)

"""The facts behind `goldsmith verify`: whether published gold is sound, and whether its recipe still makes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from goldsmith.errors.base import AGAINST, COULD_NOT_RUN, GoldsmithError
from goldsmith.errors.gold import GoldUnreadable, NewerGold
from goldsmith.generate.change_cause import Attribution, attribute
from goldsmith.generate.freshness import changed_sources
from goldsmith.generate.options import Options, options_of
from goldsmith.generate.outcome import REFUSED, UNCHANGED, Outcome, Trouble
from goldsmith.generate.pipeline import dry_run
from goldsmith.generate.previous_gold import MachineNoise
from goldsmith.gold.advice import Advice
from goldsmith.gold.checks import Check
from goldsmith.gold.diff import TensorChange
from goldsmith.gold.files import SUFFIXES
from goldsmith.gold.inspect_gold import inspect_gold
from goldsmith.gold.load import Gold, load_gold
from goldsmith.gold.manifest import MANIFEST, read_manifest
from goldsmith.process.progress import Progress
from goldsmith.targets.target import Target
from goldsmith.workspace.temporary import private_folder


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `reproduced` is None if the recipe was not run again; if bits differ, `attribution` says why."""

    name: str
    """The assignment."""
    outcome: str
    """`unchanged` where the gold is sound, `refused` where it is not, `stale` where it would change, `missing` where
    there is none."""
    checks: tuple[Check, ...] = ()
    """Every check, in order."""
    advice: tuple[Advice, ...] = ()
    """Where a case is blind by construction."""
    reproduced: bool | None = None
    """Whether the recipe made the same bits again; null where it was not run."""
    changes: tuple[TensorChange, ...] = ()
    """Tensors that would change, beyond noise."""
    files: tuple[str, ...] = ()
    """Files of recorded values that would change, in a tensor or in something else."""
    noise: MachineNoise | None = None
    """Tensors that came out in other bits, within noise; null where none did."""
    environment: tuple[str, ...] = ()
    """What is different about this machine, as far as it is known."""
    sources: tuple[str, ...] = ()
    """What the gold was made from that is different now."""
    attribution: Attribution | None = None
    """Why tensors came out differently; null where none did."""
    error: Trouble | None = None
    """Why the recipe could not be run again; null where it could."""
    exit_code: int = 0
    """The exit code of this assignment alone."""


def prove(target: Target) -> Proof:
    """Read the gold back and check all of it again, without running anything."""
    if not (target.gold / MANIFEST).is_file():
        return Proof(name=target.name, outcome="missing", exit_code=COULD_NOT_RUN)
    try:
        checks = tuple(inspect_gold(target.gold))
    except NewerGold as error:
        trouble = Trouble(kind=error.kind, message=str(error))
        return Proof(name=target.name, outcome=REFUSED, error=trouble, exit_code=COULD_NOT_RUN)
    advice = read_manifest(target.gold).advice if checks[0].ok else ()
    if not all(check.ok for check in checks):
        return Proof(name=target.name, outcome=REFUSED, checks=checks, advice=advice, exit_code=AGAINST)
    return Proof(name=target.name, outcome=UNCHANGED, checks=checks, advice=advice)


def reproduce(proof: Proof, target: Target, progress: Progress) -> Proof:
    """Compare sound gold with what its recipe makes now, and find the cause of differences. Changes nothing."""
    if proof.outcome != UNCHANGED:
        return proof
    options = recorded_options(target)
    with private_folder() as folder:
        made, options = dry_run_as_recorded(target, options, progress, folder)
        if made.outcome not in (UNCHANGED, "stale"):
            return msgspec.structs.replace(
                proof, outcome="stale", reproduced=False, error=made.error, exit_code=COULD_NOT_RUN
            )
    gold = load_gold(target.gold)
    recorded = gold.manifest.provenance
    sources = tuple(changed_sources(target, recorded))
    differs = bool(made.changes or made.noise) and recorded.mode == "cases"
    return msgspec.structs.replace(
        proof,
        outcome="stale" if made.changes or _changed_files(made) else UNCHANGED,
        reproduced=not (made.changes or made.noise or _changed_files(made)),
        changes=made.changes,
        files=_changed_files(made),
        noise=made.noise,
        environment=made.environment,
        sources=sources,
        attribution=_attribution(target, options, gold, sources) if differs else None,
        exit_code=AGAINST if made.changes or _changed_files(made) else 0,
    )


def _changed_files(made: Outcome) -> tuple[str, ...]:
    """Return the files with recorded values that a dry run would replace."""
    names = ((file.path.rpartition("/")[2], file.change) for file in made.files)
    return tuple(name for name, change in names if change != "same" and name.endswith(SUFFIXES))


def _attribution(target: Target, options: Options, gold: Gold, sources: Sequence[str]) -> Attribution | None:
    """Return the cause of differences, None if the solution does not run on gold's own inputs and weights."""
    try:
        return attribute(target, options, gold, sources)
    except GoldsmithError:
        return None


def dry_run_as_recorded(target: Target, options: Options, progress: Progress, folder: Path) -> tuple[Outcome, Options]:
    """Make a dry run with `options`; return its outcome and the options it used. If their device is not here, the CPU
    is used: results are judged within their tolerance."""
    outcome = dry_run(target, options, progress, folder / "gold")
    if outcome.error is None or outcome.error.kind != "device-missing":
        return outcome, options
    here = msgspec.structs.replace(options, device="cpu")
    outcome = dry_run(target, here, progress, folder / "on-cpu" / "gold")
    note = f"the gold was recorded on {options.device}, which is not here, so the recipe ran on the CPU"
    return msgspec.structs.replace(outcome, notes=(*outcome.notes, note)), here


def recorded_options(target: Target) -> Options:
    """Return the options that the gold was made with, as far as its manifest tells; otherwise the course's."""
    return as_recorded(target, options_of(target))


def as_recorded(target: Target, options: Options) -> Options:
    """Return `options` with the seed and the device that the gold was made with, as far as its manifest tells."""
    try:
        made = read_manifest(target.gold).provenance
    except GoldUnreadable:
        return options
    return msgspec.structs.replace(options, seed=made.seed, device=made.environment.device.partition(" ")[0])

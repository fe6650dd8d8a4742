"""One more run of the recipe, on gold's own inputs and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldsmith.generate.error_mapping import error_of
from goldsmith.generate.jobs import make_job
from goldsmith.generate.measure_tolerances import IN_FLOAT64
from goldsmith.generate.options import Options
from goldsmith.gold.calibration import FLOAT64
from goldsmith.gold.files import read_arrays, read_payload
from goldsmith.gold.load import Gold
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import KeptCase, RecordJob, ReplayJob
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import make_workspaces


def replay(
    target: Target,
    placed: Sequence[Placement],
    options: Options,
    gold: Gold,
    *,
    environment: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return what the implementation in `placed` records, by case; a case that its recipe no longer has is left out.

    Raises the error that stopped it, if any.
    """
    cases = {name: gold[name] for name in gold}  # each look-up checks a hash
    kept = {name: KeptCase.of(case.entry, case.path) for name, case in cases.items()}
    with make_workspaces(target, placed, 1) as (workspace,):
        job = make_job(RecordJob, target, workspace, options, kept=kept, environment=dict(environment or {}))
        (ending,) = run_parallel([job], timeout=options.timeout, watcher=Watcher())
        error = error_of(target, workspace, ending, options)
        if error is not None:
            raise error
        files = {name: workspace.scratch / "gold" / case.path.name for name, case in cases.items()}
        return {name: read_payload(path) for name, path in files.items() if path.is_file()}


def replay_in_float64(
    target: Target,
    placed: Sequence[Placement],
    options: Options,
    kept: Mapping[str, KeptCase],
    watcher: Watcher,
) -> dict[str, dict[str, Any]]:
    """Return what cases record in float64 on `kept` inputs and weights, by case and path. A case that does not run in
    float64, or a run that does not finish, is left out."""
    if not kept:
        return {}
    with make_workspaces(target, placed, 1) as (workspace,):
        job = make_job(ReplayJob, target, workspace, options, kept=dict(kept), trials=(IN_FLOAT64,))
        run_parallel([job], timeout=options.timeout, watcher=watcher)
        files = {name: Path(job.output, name, f"{FLOAT64}.safetensors") for name in kept}
        return {name: read_arrays(path) for name, path in files.items() if path.is_file()}

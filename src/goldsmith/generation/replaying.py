"""The recipe run once more on gold's own inputs and weights, and what came out beside the gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from goldsmith.course import Assignment, Placement
from goldsmith.generation.failures import error_of
from goldsmith.generation.options import Options
from goldsmith.generation.planning import make_job
from goldsmith.gold import Gold, read_payload
from goldsmith.recording import KeptCase, Watcher, run_side_by_side
from goldsmith.workspace import make_workspaces


def replay(
    assignment: Assignment,
    placed: Sequence[Placement],
    options: Options,
    gold: Gold,
    *,
    environment: Mapping[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """What the implementation in `placed` records, by case. Raises what kept it from coming to its end."""
    cases = {name: gold[name] for name in gold}  # each look-up checks a hash
    kept = {name: KeptCase.of(case.entry, case.path.parent) for name, case in cases.items()}
    with make_workspaces(assignment, placed, 1) as (workspace,):
        job = msgspec.structs.replace(
            make_job(assignment, workspace, options), kept=kept, environment=dict(environment or {})
        )
        (ending,) = run_side_by_side([job], timeout=options.timeout, watcher=Watcher())
        error = error_of(assignment, workspace, ending, options)
        if error is not None:
            raise error
        return {name: read_payload(workspace.scratch / "gold" / case.path.name) for name, case in cases.items()}

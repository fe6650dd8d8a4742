"""Which cases of the gold that stands there a new run confirms: to the bit, or within noise.

Where sources have changed, or a tensor went further than noise was seen to go, float64 decides: it shows no noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.course import Assignment
from goldsmith.generation.options import Options
from goldsmith.generation.planning import make_job
from goldsmith.generation.previous import Previous
from goldsmith.generation.variants import Recording, kept_cases
from goldsmith.gold import FLOAT64, CaseFacts, Movement, judge_float64, read_arrays
from goldsmith.recording import Trial, Watcher, run_side_by_side
from goldsmith.workspace import make_workspaces


def confirm(
    assignment: Assignment,
    options: Options,
    previous: Previous,
    recordings: Sequence[Recording],
    *,
    same_sources: bool,
    watcher: Watcher,
) -> dict[str, Movement]:
    """How far each case is from the gold before, by name; a case that has no counterpart there is left out."""
    movements = previous.movements(recordings, same_sources=same_sources)
    for recording in recordings:
        doubtful = [
            case
            for case in recording.cases
            if case.name in movements
            and movements[case.name].outcome == "noise"
            and not options.exact
            and (movements[case.name].needs_float64 or not same_sources)
        ]
        found = _in_float64(
            assignment, options, recording, [case for case in doubtful if _has_reference(previous, case)], watcher
        )
        for case in doubtful:
            entry = previous.entry(case.name)
            assert entry is not None
            movements[case.name] = judge_float64(movements[case.name], entry, previous.folder, found.get(case.name, {}))
    return movements


def _has_reference(previous: Previous, case: CaseFacts) -> bool:
    entry = previous.entry(case.name)
    return entry is not None and entry.reference is not None


def _in_float64(
    assignment: Assignment, options: Options, recording: Recording, cases: Sequence[CaseFacts], watcher: Watcher
) -> Mapping[str, Mapping[str, Any]]:
    """What cases record in float64 on the inputs and weights that they were recorded with, by case and path.

    A case that does not run so, or a run that does not come to its end, leaves nothing.
    """
    if not cases:
        return {}
    with make_workspaces(assignment, recording.placed, 1) as (workspace,):
        job = msgspec.structs.replace(
            make_job(assignment, workspace, options, task="calibrate"),
            kept=kept_cases(cases, recording.first),
            trials=(Trial(name=FLOAT64, precision="float64"),),
        )
        run_side_by_side([job], timeout=options.timeout, watcher=watcher)
        files = {case.name: Path(job.output, case.definition, f"{FLOAT64}.safetensors") for case in cases}
        return {name: read_arrays(path) for name, path in files.items() if path.is_file()}

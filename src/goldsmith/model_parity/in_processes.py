"""Judge a parity with each side in a process of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from goldsmith.errors.parity import BadTarget
from goldsmith.judge.evidence import Evidence
from goldsmith.model_parity.both_sides import ParityRequest
from goldsmith.model_parity.parity import judge_parity
from goldsmith.model_parity.process_side import ProcessSide
from goldsmith.model_parity.result import ParityReport
from goldsmith.process.progress import Progress
from goldsmith.runs.implementation import SideJob
from goldsmith.workspace.temporary import private_folder


def judge_in_processes(
    reference: SideJob,
    candidate: SideJob,
    request: ParityRequest,
    progress: Progress,
    evidence: Evidence | None = None,
) -> ParityReport:
    """Start both processes, which import at the same time, and judge."""
    if candidate.adapter and not Path(candidate.adapter).is_file():
        raise BadTarget("--adapter", f"there is no file {candidate.adapter}", "the path of an adapter file")
    with private_folder() as folder, contextlib.ExitStack() as stack:
        jobs = [msgspec.structs.replace(job, folder=str(folder)) for job in (reference, candidate)]
        sides = [ProcessSide(job, progress.tick) for job in jobs]
        progress.step("importing both")
        for side in sides:
            stack.callback(side.close)
            side.start()
        for side in sides:
            side.wait_until_built()
        return judge_parity(sides[0], sides[1], request, progress.step, evidence)

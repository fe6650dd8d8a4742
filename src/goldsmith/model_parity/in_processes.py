"""Judge a parity with each side in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from goldsmith.errors.parity import BadTarget
from goldsmith.judge.evidence import Evidence
from goldsmith.model_parity.both_sides import ParityAsk
from goldsmith.model_parity.judge import judge_parity
from goldsmith.model_parity.process_side import ProcessSide
from goldsmith.model_parity.result import ParityReport
from goldsmith.process.sides import SideJob
from goldsmith.workspace.temporary import private_folder

REFERENCE, CANDIDATE = "reference", "candidate"


def judge_in_processes(
    reference: SideJob,
    candidate: SideJob,
    ask: ParityAsk,
    on_step: Callable[[str], None],
    on_wait: Callable[[], None],
    evidence: Evidence | None = None,
) -> ParityReport:
    """Start both processes, which import at the same time, and judge. `on_wait` is called while they work."""
    if candidate.adapter and not Path(candidate.adapter).is_file():
        raise BadTarget("--adapter", f"there is no file {candidate.adapter}", "the path of an adapter file")
    with private_folder() as folder, contextlib.ExitStack() as stack:
        sides = [
            ProcessSide(msgspec.structs.replace(job, folder=str(folder)), on_wait) for job in (reference, candidate)
        ]
        on_step("importing both")
        for side in sides:
            stack.callback(side.close)
            side.start()
        for side in sides:
            side.wait_until_built()
        return judge_parity(sides[0], sides[1], ask, on_step, evidence)

"""Judge a parity with each side in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from goldsmith.errors.check import BadAdapter
from goldsmith.model_parity.both_sides import ParityAsk
from goldsmith.model_parity.judge import judge_parity
from goldsmith.model_parity.process_side import ProcessSide
from goldsmith.model_parity.result import ParityReport
from goldsmith.process.sides import SideJob
from goldsmith.workspace.temporary import private_folder

REFERENCE, CANDIDATE = "reference", "candidate"


def judge_in_processes(
    common: SideJob, ask: ParityAsk, init_candidate: str | None, adapter: Path | None, on_step: Callable[[str], None]
) -> ParityReport:
    """Start both processes, which import at the same time, and judge. `common` is what their jobs have in common."""
    if adapter is not None and not adapter.is_file():
        raise BadAdapter(adapter, "there is no such file")
    with private_folder() as folder, contextlib.ExitStack() as stack:
        mine = msgspec.structs.replace(common, role=REFERENCE, target=ask.reference, folder=str(folder))
        theirs = msgspec.structs.replace(
            mine,
            role=CANDIDATE,
            target=ask.candidate,
            init=common.init if init_candidate is None else init_candidate,
            inputs=(),
            adapter=str(adapter.resolve()) if adapter else "",
        )
        sides = ProcessSide(mine), ProcessSide(theirs)
        on_step("importing both")
        for side in sides:
            side.start()
            stack.callback(side.close)
        for side in sides:
            side.wait_until_built()
        return judge_parity(sides[0], sides[1], ask, on_step)

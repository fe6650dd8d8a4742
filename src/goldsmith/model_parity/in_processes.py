"""Judge a parity with each side in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from goldsmith.errors.parity import BadTarget
from goldsmith.judge.evidence import Evidence
from goldsmith.model_parity.both_sides import ParityRequest
from goldsmith.model_parity.parity import judge_parity
from goldsmith.model_parity.process_side import ProcessSide
from goldsmith.model_parity.references import between_references, judge_by_several
from goldsmith.model_parity.result import ParityReport
from goldsmith.model_parity.versions import of_version
from goldsmith.process.progress import Progress
from goldsmith.runs.implementation import SideJob
from goldsmith.workspace.temporary import private_folder


def judge_in_processes(
    references: Sequence[SideJob],
    candidate: SideJob,
    request: ParityRequest,
    progress: Progress,
    *,
    versions: Sequence[str] = (),
    with_evidence: bool = False,
) -> tuple[ParityReport, Evidence | None]:
    """Start all processes, which import at the same time, and judge by one reference or several; with `versions`, by
    the only reference in each of these."""
    if candidate.adapter and not Path(candidate.adapter).is_file():
        raise BadTarget("--adapter", f"there is no file {candidate.adapter}", "the path of an adapter file")
    with private_folder() as folder, contextlib.ExitStack() as stack:
        names = [job.target or request.reference for job in references]
        if versions:
            names = [f"{names[0]} ({version})" for version in versions]
            references = [of_version(stack, references[0], version, progress.step) for version in versions]
        sides = []
        for number, job in enumerate((*references, candidate)):
            own = folder / str(number)
            own.mkdir()
            sides.append(ProcessSide(msgspec.structs.replace(job, folder=str(own)), progress.tick))
        progress.step("importing both" if len(sides) == 2 else "importing all")
        for side in sides:
            stack.callback(side.close)
            side.start()
        for side in sides:
            side.wait_until_built()
        evidence = [Evidence() if with_evidence else None for _ in references]

        def judge(number: int, other: int | None) -> ParityReport:
            """Compare a reference with another one, or with the candidate."""
            asked = msgspec.structs.replace(request, reference=names[number])
            two, kept = sides[-1], evidence[number]
            if other is not None:
                asked, two, kept = between_references(asked, names[other]), sides[other], None
            if len(names) > 1:
                sides[number].begin("reference")
                two.begin("candidate")
            return judge_parity(sides[number], two, asked, progress.step, kept)

        if len(references) == 1:
            return judge(0, None), evidence[0]
        order = sorted(range(len(names)), key=names.__getitem__)
        report, base = judge_by_several(names, request.candidate, order, judge, versions=bool(versions))
        return report, evidence[base or 0]

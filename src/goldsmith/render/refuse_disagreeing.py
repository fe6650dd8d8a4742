"""Refuse new gold that a copy of the solution does not agree with, with the report that `goldsmith check` gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.course.solutions import Placement
from goldsmith.course.subject import Subject
from goldsmith.errors.gold import CopyDisagrees
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkServer
from goldsmith.process.launcher import Watcher


def refuse_disagreeing(
    assignment: Subject,
    options: Options,
    folder: Path,
    placed: Sequence[Placement],
    *,
    fork_server: ForkServer | None,
    watcher: Watcher,
) -> None:
    """Check a copy of the solution at the end of step 7 of `generate`. Imports are local because fresh gold never gets
    this far, and needs no NumPy."""
    from goldsmith.check.solution_copy import check_copy
    from goldsmith.check.verdict_words import one_line
    from goldsmith.check.verdicts import AGREES
    from goldsmith.render.verdict import verdict_text

    verdict = check_copy(assignment, options, folder, placed, fork_server=fork_server, watcher=watcher)
    if verdict is None or verdict.outcome == AGREES:
        return
    bad = [case for case in verdict.cases if case.outcome != AGREES]
    reason = one_line(bad[0].reason) if bad else "nothing was compared"
    reason = verdict.not_given[0] if verdict.not_given else reason
    report = verdict_text(verdict, with_next=False)
    raise CopyDisagrees(assignment.name, [case.name for case in bad], reason, report)

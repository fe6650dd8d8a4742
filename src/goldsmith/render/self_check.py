"""Refuse new gold that a copy of the solution does not agree with, with the report that `goldsmith check` gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.errors.gold import CopyDisagrees, CopyFailsInSandbox
from goldsmith.generate.options import Options
from goldsmith.generate.state import COPY_NAMES, CheckSolution
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.targets.target import Placement, Submission, Target

if TYPE_CHECKING:
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.judge.verdicts import Verdict


def self_check(assignment: Assignment | Target) -> CheckSolution:
    """Return what checks new gold at the end of step 7 of `generate`: a copy of the solution must agree with it, of a
    recipe by itself what it imports."""
    return partial(_refuse_disagreeing, assignment)


def _refuse_disagreeing(
    assignment: Assignment | Target,
    target: Target,
    options: Options,
    folder: Path,
    placed: Sequence[Placement],
    *,
    fork_server: ForkClient | None,
    watcher: Watcher,
) -> str:
    """Check a copy of the solution; return what there is to note about it. Imports are local because fresh gold never
    gets this far, and needs no NumPy."""
    from goldsmith.check.solution_copy import check_copy
    from goldsmith.courses.submissions.solution_copy import submitted_copy
    from goldsmith.judge.verdicts import AGREES
    from goldsmith.judge.words import one_line
    from goldsmith.render.verdict import verdict_text

    as_it_is = Submission(COPY_NAMES["recipe"], is_tree=True)
    copy = nullcontext(as_it_is) if isinstance(assignment, Target) else submitted_copy(assignment, placed)
    with copy as submission:
        found = check_copy(target, options, folder, submission, fork_server=fork_server, watcher=watcher)
    if found is None:
        return ""
    if found.sandboxed is not None:
        raise _fails_in_sandbox(target, found.sandboxed)
    verdict = found.verdict
    if verdict.outcome == AGREES:
        why = found.not_tried
        return f"a copy of the solution was not tried in the grading sandbox: {why}" if why else ""
    bad = [case for case in verdict.cases if case.outcome != AGREES]
    reason = one_line(bad[0].reason) if bad else "nothing was compared"
    reason = verdict.not_given[0] if verdict.not_given else reason
    report = verdict_text(verdict, with_next=False)
    raise CopyDisagrees(target.name, [case.name for case in bad], reason, report)


def _fails_in_sandbox(target: Target, verdict: Verdict) -> CopyFailsInSandbox:
    """Name the line, what is denied there, and the setting that lets it in."""
    from goldsmith.check.denials import denied_words, place_of
    from goldsmith.judge.verdicts import AGREES
    from goldsmith.judge.words import case_sentence

    bad = [case for case in verdict.cases if case.outcome != AGREES]
    first = next((case for case in bad if case.failure is not None), bad[0])
    where, denied = "", "something there depends on the machine"
    if first.failure is not None:
        where = f", {place_of(first.failure)}" if first.failure.frames else ""
        denied = denied_words(first.failure, loopback=target.loopback)
    denied = verdict.not_given[0] if verdict.not_given else denied
    names = [case.name for case in bad]
    return CopyFailsInSandbox(target.name, names, where, case_sentence(first), denied)

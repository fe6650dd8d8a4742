"""Several right answers: cases recorded again from variants of the solution, on the same inputs and weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from goldsmith.errors.course import NoSuchVariant
from goldsmith.errors.gold import NotReplayable
from goldsmith.generate.jobs import make_job
from goldsmith.generate.options import Options
from goldsmith.generate.recording import Recording
from goldsmith.gold.facts import JUDGED_SECTIONS, CaseFacts
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import RecordJob, Result
from goldsmith.process.process_exit import ProcessExit
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import Workspace, make_workspaces

Finish = Callable[[list[Workspace], list[ProcessExit]], Result]


def record_variants(
    stack: contextlib.ExitStack,
    target: Target,
    options: Options,
    solution: Recording,
    watcher: Watcher,
    finish: Finish,
) -> list[Recording]:
    """Make one recording for each variant that a case of `solution` accepts; workspaces live as long as `stack`."""
    found = target.variants
    wanted = dict.fromkeys(name for case in solution.cases for name in case.accepts)
    recordings = []
    if wanted:
        _check_replay(target, options, solution, watcher, finish)
    for name in wanted:
        if name not in found:
            case = next(case.name for case in solution.cases if name in case.accepts)
            raise NoSuchVariant(name, case, _variants_folder(target), sorted(found))
        cases = [case for case in solution.cases if name in case.accepts]
        workspaces = stack.enter_context(make_workspaces(target, found[name], 2))
        jobs = [
            make_job(RecordJob, target, workspace, options, variant=name, kept=solution.kept_cases(cases))
            for workspace in workspaces
        ]
        endings = run_parallel(jobs, timeout=options.timeout, watcher=watcher)
        result = finish(workspaces, endings)
        first, second = (workspace.scratch / "gold" for workspace in workspaces)
        recordings.append(Recording(found[name], result.cases, first, second))
    return recordings


def _check_replay(target: Target, options: Options, solution: Recording, watcher: Watcher, finish: Finish) -> None:
    """Refuse variants unless the solution itself, replayed on its own gold, gives that gold."""
    cases = [case for case in solution.cases if case.accepts]
    with make_workspaces(target, solution.placed, 1) as workspaces:
        job = make_job(RecordJob, target, workspaces[0], options, kept=solution.kept_cases(cases))
        result = finish(workspaces, run_parallel([job], timeout=options.timeout, watcher=watcher))
    for case, again in zip(cases, result.cases, strict=True):
        if _answers(case) != _answers(again):
            raise NotReplayable(case.name)


def _variants_folder(target: Target) -> Path | None:
    return target.project.relative(target.solution.variants_folder) if target.solution else None


def _answers(case: CaseFacts) -> list[str]:
    return [leaf.sha256 for leaf in case.file.leaves if leaf.section in JUDGED_SECTIONS]


def idle_variants(cases: Sequence[CaseFacts]) -> list[str]:
    """Return a sentence for each variant whose answer is the solution's own, to the last bit."""
    answers = {case.name: _answers(case) for case in cases}
    return [
        f"case {case.definition}: the variant {case.variant} gives the same answer, so it need not be accepted"
        for case in cases
        if case.variant and answers[case.name] == answers[case.definition]
    ]

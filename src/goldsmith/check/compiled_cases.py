"""Run what agrees once more, compiled: a compiler may compute something else than the code says."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.errors.check import CannotCompileHere
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, DIFFERS, CaseVerdict, Verdict, gravest
from goldsmith.runs.conditions import FLOAT64, PLAIN
from goldsmith.runs.run import CaseRuns

COMPILED = "compiled"
COMPILING_TIMEOUT_S = 240.0
"""More processor time for a case that is compiled: its first graph takes up to 30 s where nothing has been compiled yet
(torch 2.13, an idle core), each further one 1 to 5 s."""
_OWN, _WIDE = PLAIN.but(compiled=True, memory=""), FLOAT64.but(compiled=True)
_MOST_CHARS = 200


def judge_compiled(
    context: CheckContext, workspace: ReplayWorkspace, verdict: Verdict, layouts: Mapping[str, str]
) -> Verdict:
    """Return a verdict in which cases that agree as they are written, and not compiled, differ."""
    names = [case.name for case in verdict.cases if case.outcome == AGREES]
    if not names:
        return verdict
    judge = context.compiled_judge
    with workspace.one_worker():
        runs = workspace.run(dict.fromkeys(names, (_OWN,)), layouts)
        _require_compiler(runs)
        found = {name: judge.verdict(name, runs[name], guessing=False) for name in names}
        doubtful = [name for name in names if found[name].outcome == DIFFERS and runs[name].first.failure is None]
        for name, wide in workspace.run(dict.fromkeys(doubtful, (_OWN, _WIDE)), layouts).items() if doubtful else ():
            if "float64" in wide.runs and wide.runs["float64"].failure is None:
                runs[name], found[name] = wide, judge.verdict(name, wide, guessing=False)
    cases = tuple(
        _said(case, runs[case.name], found[case.name]) if case.name in found else case for case in verdict.cases
    )
    notes = verdict.notes
    if all(case.outcome == AGREES for case in cases if case.name in found):
        notes = (*notes, "what agrees was run once more, compiled, and agrees so, too")
    outcome = gravest([verdict.outcome, *(case.outcome for case in cases)])
    return msgspec.structs.replace(verdict, cases=cases, outcome=outcome, notes=notes)


def _require_compiler(runs: Mapping[str, CaseRuns]) -> None:
    for item in runs.values():
        failure = item.first.failure
        if failure is not None and failure.kind == "compiler":
            raise CannotCompileHere(failure.message)


def _said(case: CaseVerdict, runs: CaseRuns, compiled: CaseVerdict) -> CaseVerdict:
    failure = runs.first.failure
    if failure is None and not runs.first.facts.graphs:
        why = "it agrees as it is written, and nothing of it is compiled: torch.compile finds no model or function"
        return msgspec.structs.replace(case, outcome=COULD_NOT_RUN, kind=COMPILED, reason=why)
    if compiled.outcome == AGREES:
        return case
    why = (compiled.reason.splitlines() or [""])[0][:_MOST_CHARS]
    return msgspec.structs.replace(
        case,
        outcome=COULD_NOT_RUN if failure is not None and failure.kind in CUT_OFF else DIFFERS,
        kind=COMPILED,
        reason=f"it agrees as it is written; compiled, {why}",
        judged_in=compiled.judged_in,
        leaves=compiled.leaves,
        natural=compiled.natural,
    )

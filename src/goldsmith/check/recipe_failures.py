"""Tell failures of the course's own code, where submissions are graded, from failures of submissions.

A recipe's line may fail because of what a submission returned, or because the sandbox denies what it needs. What the
failing process says about itself proves nothing, so that the solution decides: if it cannot run a case in the same
sandbox either, nobody can be judged by that case, and staff are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from goldsmith.check.denials import denied_words, is_denial, place_of
from goldsmith.judge.verdicts import COULD_NOT_RUN, ERROR, CaseVerdict, Verdict
from goldsmith.judge.words import one_line
from goldsmith.runs.run import Failure

RECIPE = "recipe"
"""The kind of a case in which the course's own code failed."""
FORM = "form"
"""The kind of a case whose recipe does with a model or function what those of another library do not allow."""
_SUBMISSIONS_OWN = (FORM, "stub", "import", "call", "none", "weights", "misuse")
"""Kinds of failure that are a submission's by what they are."""
_SHOWN_CASES, _SHOWN_CHARS = 3, 120
_REASON = "the course's own code could not run where this was graded"
SolutionFailures = Callable[[], Mapping[str, Failure] | None]
"""Returns how the solution fails in the same sandbox, by case; None where there is no solution, as in a pack."""


def failures_of(verdict: Verdict) -> dict[str, Failure]:
    """Return how the cases of a verdict failed that could not run."""
    failed = (case for case in verdict.cases if case.outcome == COULD_NOT_RUN)
    return {case.name: case.failure or Failure(kind="raised", message=case.reason) for case in failed}


def excuse(
    verdicts: Mapping[str, CaseVerdict],
    recipe: str,
    solution_failures: SolutionFailures,
    *,
    loopback: bool,
    ported: bool,
) -> tuple[dict[str, CaseVerdict], tuple[str, ...]]:
    """Return verdicts in which a case that the course's own code keeps from running is an error, by no fault of the
    submission, and a sentence for staff on each reason. `recipe` is the recipe's name in a failure's lines. A case may
    need another form for what is `ported` to another library alone: that it does is the submission's word."""
    found = dict(verdicts)
    failed = {name: case for name, case in verdicts.items() if case.outcome == COULD_NOT_RUN}
    forms = {name: case for name, case in failed.items() if ported and case.kind == FORM}
    for name, case in forms.items():
        found[name] = msgspec.structs.replace(case, outcome=ERROR, failure=None, modules=())
    suspects = {name: case.failure for name, case in verdicts.items() if case.failure and _may_be_ours(case, recipe)}
    known = solution_failures() if suspects else {}
    blamed = dict[tuple[str, str], tuple[Failure, list[str]]]()
    for name, failure in suspects.items():
        ours = _if_no_solution(failure, recipe) if known is None else _same_as(known.get(name), failure, recipe)
        if ours is not None:
            found[name] = msgspec.structs.replace(
                verdicts[name], outcome=ERROR, kind=RECIPE, reason=_REASON, failure=None, modules=()
            )
            blamed.setdefault((ours.message, place_of(ours)), (ours, []))[1].append(name)
    has_solution = known is not None
    told = (_for_staff(names, it, by_solution=has_solution, loopback=loopback) for it, names in blamed.values())
    return found, (*(_needs_form(name, case) for name, case in forms.items()), *told)


def _may_be_ours(case: CaseVerdict, recipe: str) -> bool:
    """Return whether it is worth asking how the solution does: nothing shows that submitted code failed by itself."""
    if case.outcome != COULD_NOT_RUN or case.failure is None or case.failure.kind in _SUBMISSIONS_OWN:
        return False
    return _is_outside(case.failure, recipe) or is_denial(case.failure)


def _is_outside(failure: Failure, recipe: str) -> bool:
    """Return whether the last line that is known is the recipe's, or none is."""
    return not failure.frames or failure.frames[-1].file == recipe


def _same_as(solutions: Failure | None, failure: Failure, recipe: str) -> Failure | None:
    """Return the solution's failure in the same case, if that explains the submission's: neither came from submitted
    code, or both raise the same error."""
    if solutions is None:
        return None
    return solutions if _is_outside(failure, recipe) or _error(solutions) == _error(failure) else None


def _if_no_solution(failure: Failure, recipe: str) -> Failure | None:
    """Without a solution, take what the sandbox refuses to a line of the recipe for the recipe's own fault."""
    has_line = bool(failure.frames) and failure.frames[-1].file == recipe
    return failure if has_line and is_denial(failure) else None


def _needs_form(name: str, case: CaseVerdict) -> str:
    return f"points of {name} are withheld: {one_line(case.reason)[:_SHOWN_CHARS]}"


def _error(failure: Failure) -> tuple[str, str]:
    return failure.kind, failure.message.partition(":")[0]


def _for_staff(cases: Sequence[str], failure: Failure, *, by_solution: bool, loopback: bool) -> str:
    also = ", with the solution neither" if by_solution else ""
    names = f"{', '.join(cases[:_SHOWN_CASES])}{' …' if len(cases) > _SHOWN_CASES else ''}"
    return (
        f"the course's own code cannot run {names} in the grading sandbox{also}, so that points are withheld: "
        f"{denied_words(failure, loopback=loopback)} ({place_of(failure)}: "
        f"{one_line(failure.message)[:_SHOWN_CHARS]})"
    )

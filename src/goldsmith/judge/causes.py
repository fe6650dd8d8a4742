"""Group the cases of a verdict by what is wrong with them, so that each error is told once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from goldsmith.judge.coverage import part_of
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, ERROR, PROVIDED_CHANGED, CaseVerdict, Verdict

Cases = list[CaseVerdict]
_NUMBER = re.compile(r"\d+")


def telling_case(verdict: Verdict) -> CaseVerdict | None:
    """Return the case that shows best what is wrong; None if nothing is. Beside an error that is nobody's fault, that
    may be a mistake in another case."""
    if verdict.outcome == AGREES:
        return None
    if verdict.outcome == ERROR and verdict.first_case:
        return next(case for case in verdict.cases if case.name == verdict.first_case)
    found = [case for case in verdict.cases if case.outcome == verdict.outcome]
    return next((case for case in found if case.name == verdict.first_case), found[0] if found else None)


def alike(cases: Iterable[CaseVerdict]) -> list[Cases]:
    """Group cases, in their order, that could not run for the same reason."""
    groups: dict[tuple[str, ...], Cases] = {}
    for case in cases:
        groups.setdefault(_error(case) if case.outcome == COULD_NOT_RUN else ("", case.name), []).append(case)
    return list(groups.values())


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong: cases that show it (several only if they could not run for the same reason), the parts
    that are to blame and that no cause before it names, and other cases that it makes wrong."""

    cases: Cases
    parts: frozenset[str]
    others: Cases


def by_cause(verdict: Verdict) -> list[Cause]:
    """Return what is wrong, the most telling first, then what the fewest parts are to blame for."""
    telling = telling_case(verdict)
    groups = alike(case for case in verdict.cases if case.outcome != AGREES)
    groups.sort(key=lambda same: (telling not in same, len(_blamed(same[0]))))
    told: set[str] = set()
    found: list[Cause] = []
    for same in groups:
        parts = _blamed(same[0])
        if parts <= told:
            next(cause for cause in found if cause.parts & parts).others.extend(same)
        else:
            found.append(Cause(same, frozenset(parts - told), []))
        told |= parts
    return found


def _blamed(case: CaseVerdict) -> set[str]:
    """Return the parts that are to blame for a case; where there are none, what else tells its cause. What is not
    written is a cause of its own, whoever else is to blame."""
    if case.outcome == PROVIDED_CHANGED:
        return {PROVIDED_CHANGED}
    parts = {part_of(item.callable) for item in case.modules if item.source} | {case.first_part} - {""}
    return {"\n".join(_error(case))} if case.kind == "stub" or not parts else parts


def _error(case: CaseVerdict) -> tuple[str, ...]:
    """Return what tells one error from another: its kind, its message without the numbers in it, and the part that is
    to blame or, where that is not known, the line that raised it. What is not written is told by its name alone; of a
    part that returns nothing, each case says something else."""
    if case.kind == "stub":
        return case.kind, case.reason
    if case.kind == "none" and case.first_part:
        return case.kind, case.first_part
    last = case.failure.frames[-1] if case.failure and case.failure.frames else None
    where = case.first_part or (f"{last.file}:{last.line}" if last else "")
    return case.kind, _NUMBER.sub("0", case.reason), where

"""Judge each part of the assignment by all cases together: credit is given by part.

A part is a class or function that students write. It is right when everything of it that gold's cases run is right;
which cases those are is in gold's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from goldsmith.judge.coverage import PartCoverage, is_constructor, part_of
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    PROVIDED_CHANGED,
    SILENT,
    CaseVerdict,
    ModuleVerdict,
    Outcome,
    PartVerdict,
    sources,
)

RIGHT = (AGREES, PROVIDED_CHANGED)
"""Outcomes by which a part is right."""


def judge_parts(
    cases: Sequence[CaseVerdict], shown: PartCoverage, hollow: Callable[[str], bool] = lambda case: False
) -> Iterator[PartVerdict]:
    """Yield verdicts on the parts that something is known about, in the order in which gold's cases run them. Values of
    a `hollow` case take no work: it clears nobody of what goes wrong elsewhere."""
    verdicts = {case.name: case for case in cases}
    parts: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for case in verdicts for name in shown.runs.get(case, ())):
        parts.setdefault(part_of(name), []).append(name)
    for part, names in parts.items():
        found = [_judge(name, verdicts, shown, hollow) for name in names]
        known = [item for item in found if item is not None]
        wrong = next((item for item in known if item.outcome == DIFFERS), None)
        failed = next((item for silent in SILENT for item in known if item.outcome == silent), None)
        if wrong or failed or len(known) == len(found):
            item = wrong or failed or next((it for it in known if it.outcome == PROVIDED_CHANGED), known[0])
            alone = any(it.alone for it in known if it.outcome == item.outcome)
            yield PartVerdict(
                name=part,
                outcome=item.outcome,
                seen=sum(it.seen for it in known),
                alone=alone,
                where=item.where,
                case=item.case,
                own_dtype_only=any(it.own_dtype_only for it in known),
                unused=item.unused,
            )


def _judge(
    name: str, verdicts: Mapping[str, CaseVerdict], shown: PartCoverage, hollow: Callable[[str], bool]
) -> PartVerdict | None:
    """Judge one function or method; return None where nothing is known for or against it."""
    verdicts = {case: verdict.for_part(part_of(name)) for case, verdict in verdicts.items()}
    showing = [verdicts[case] for case in shown.showing(name) if case in verdicts]
    items = [item for case in verdicts.values() for item in case.modules if item.callable == name]
    evidence = [item for item in items if item.tells or item.outcome != AGREES]
    against = _gravest([item for item in evidence if item.source], shown)
    if against is not None and against.shared:
        return None  # either it or its inputs may be wrong
    if against is not None:
        how = {"alone": against.alone, "unused": against.unused}
        return _verdict(name, against.outcome, against.label, against.case, seen=len(showing), **how)
    narrow = [case for case in showing if shown.width(case.name) == shown.width(showing[0].name)]
    if not is_constructor(name):  # what is only constructed has returned
        called = [case for case in showing if name in shown.roots(case.name) and not _explained(case)]
        cut_off = next((case for case in (*narrow, *called) if _is_cut_off(case)), None)
        if cut_off is not None:
            return _verdict(name, COULD_NOT_RUN, "", cut_off.name, seen=len(showing))
    wrong = [case for case in showing if case.outcome not in RIGHT]
    own = narrow if not wrong else [case for case in narrow if not hollow(case.name)]
    by_own_case = bool(own) and all(case.outcome in RIGHT for case in narrow)
    if any(name in case.unseen or part_of(name) in case.corrected for case in showing):
        return None  # it may be right elsewhere, but earns nothing for cases in which it was not seen
    doubtful = {case.name for case in wrong if not _explained(case)}
    if any(item.outcome == DIFFERS and item.case in doubtful for item in evidence):
        return None  # what it returned there is wrong, and nobody knows why
    if by_own_case:
        changed = next((case for case in narrow if case.outcome == PROVIDED_CHANGED), narrow[0])
        coarse = any(case.own_dtype_only for case in narrow)
        return _verdict(name, changed.outcome, "", changed.name, seen=len(showing), own_dtype_only=coarse)
    if evidence and not doubtful and all(item.outcome == AGREES for item in evidence):
        alone = all(item.alone for item in evidence)
        return _verdict(name, AGREES, "", evidence[0].case, alone=alone, seen=len(showing))
    silent = narrow and all(case.outcome in SILENT for case in showing) and not _explained(narrow[0])
    if silent and not (is_constructor(name) and _is_cut_off(narrow[0])):
        return _verdict(name, narrow[0].outcome, "", narrow[0].name, seen=len(showing))
    return None


def _is_cut_off(case: CaseVerdict) -> bool:
    """Return whether a case ended without a result: then what the recipe calls in it may never return."""
    return case.outcome == COULD_NOT_RUN and case.kind in CUT_OFF


def _explained(case: CaseVerdict) -> bool:
    """Return whether some call is to blame for a case: then the case does not speak against the others in it."""
    return any(True for _ in sources(case.modules))


def _gravest(found: Sequence[ModuleVerdict], shown: PartCoverage) -> ModuleVerdict | None:
    """Choose a wrong answer before a missing one, what was seen before what was inferred, then the narrowest case."""
    return min(found, key=lambda it: (it.outcome != DIFFERS, it.inferred, shown.width(it.case)), default=None)


def _verdict(name: str, outcome: Outcome, where: str, case: str, **more: Any) -> PartVerdict:
    return PartVerdict(name=name, outcome=outcome, where=where, case=case, **more)

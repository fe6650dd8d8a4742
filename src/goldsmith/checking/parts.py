"""What is known about each part of the assignment, put together from all cases: credit is given by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from goldsmith.checking.verdicts import AGREES, DIFFERS, CaseVerdict, PartVerdict, gravest


def judge_parts(cases: Sequence[CaseVerdict], uses: Mapping[str, Sequence[str]]) -> Iterable[PartVerdict]:
    """Classes in the order in which gold's models use them, then functions."""
    seen: dict[str, list[tuple[str, bool, str]]] = {}
    for case in cases:
        for module in case.modules:
            if module.own and (module.source or module.outcome != DIFFERS):
                seen.setdefault(module.kind, []).append((module.outcome, module.alone, module.name or case.name))
    for name, found in seen.items():
        outcome = gravest(item[0] for item in found)
        where = next((item[2] for item in found if item[0] == outcome), "") if outcome != AGREES else ""
        alone = any(item[1] for item in found if item[0] == outcome)
        yield PartVerdict(name=name, outcome=outcome, seen=len(found), alone=alone, where=where)
    for name in dict.fromkeys(part for parts in uses.values() for part in parts):
        outcomes = [case for case in cases if name in uses.get(case.name, ())]
        blamed = [case for case in outcomes if case.outcome != AGREES and case.first_divergence in ("", name)]
        fine = [case for case in outcomes if case.outcome == AGREES]
        if blamed or fine:
            outcome = gravest(case.outcome for case in (blamed or fine))
            yield PartVerdict(name=name, outcome=outcome, seen=len(outcomes), where=blamed[0].name if blamed else "")

"""Say of a case that fails because of a function that nobody has written just that, in the same words everywhere.

What a stub does is an accident: it raises, gives None, which fails somewhere else, or leaves things as they were, and
values differ. It is one finding, and no `return` is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from goldsmith.judge.coverage import PartCoverage, part_of
from goldsmith.judge.verdicts import COULD_NOT_RUN, DIFFERS, CaseVerdict, ModuleVerdict, sources
from goldsmith.runs.run import Failure, FailureKind

STUB: FailureKind = "stub"
_BY_CODE = ("values", "none", "raised", "call", "weights", STUB)
"""Kinds of what is wrong with a case that a stub can be the reason for."""


def name_unwritten(
    verdicts: dict[str, CaseVerdict], shown: PartCoverage, unwritten: Collection[str]
) -> dict[str, CaseVerdict]:
    """Return the verdicts, with those `unwritten` functions named that keep cases from being right."""
    if not unwritten:
        return verdicts
    return {name: _named(case, shown, unwritten) for name, case in verdicts.items()}


def _named(case: CaseVerdict, shown: PartCoverage, unwritten: Collection[str]) -> CaseVerdict:
    runs = [name for name in shown.runs.get(case.name, ()) if name in unwritten]
    if case.outcome not in (DIFFERS, COULD_NOT_RUN) or case.kind not in _BY_CODE or not runs:
        return case
    blamed = list(sources(case.modules))
    name = next((item.callable for item in blamed if item.callable in runs and not item.inferred), runs[0])
    modules = [_said(item, unwritten) for item in case.modules]
    if not _is_only(case, blamed, runs):
        other = (
            case.outcome == COULD_NOT_RUN and case.kind != STUB and {item.kind for item in blamed} == {part_of(name)}
        )
        reason = f"{case.reason}; {name} is not written yet" if other else case.reason
        return msgspec.structs.replace(case, reason=reason, modules=tuple(modules))
    modules = [item if item.callable in unwritten else msgspec.structs.replace(item, source=False) for item in modules]
    if not any(item.source and item.callable == name for item in modules):
        modules.append(_source(case, name))
    first = next(item for item in modules if item.source and item.callable == name)
    told = case.failure if case.kind == STUB else None
    reason = told.message if told else f"{name} is not written yet"
    return msgspec.structs.replace(
        case,
        outcome=COULD_NOT_RUN,
        kind=STUB,
        reason=reason,
        failure=told or Failure(kind=STUB, message=reason, case=case.name),
        modules=tuple(modules),
        first_divergence=first.label,
        first_part=first.kind,
        leaves=(),
        natural=(),
    )


def _is_only(case: CaseVerdict, blamed: Sequence[ModuleVerdict], runs: Collection[str]) -> bool:
    """Return whether nothing but unwritten functions, which the case `runs`, keeps it from being right: no other was
    seen to go wrong, and the case agrees once their parts are the solution's, or it can be seen to fail for them."""
    if any(not item.inferred and item.callable not in runs and not _is_unmade(item, runs) for item in blamed):
        return False
    parts = {part_of(name) for name in runs}
    if case.corrected:
        return set(case.corrected) <= parts
    if case.kind in (STUB, "none") or _is_about_none(case):
        return True
    return bool(blamed) and case.kind != "weights" and all(item.kind in parts for item in blamed)


def _is_unmade(item: ModuleVerdict, runs: Collection[str]) -> bool:
    """Return whether a method fails on an object whose constructor is not written."""
    return item.outcome == COULD_NOT_RUN and f"{item.kind}.__init__" in runs


def _is_about_none(case: CaseVerdict) -> bool:
    return "NoneType" in case.reason


def _said(item: ModuleVerdict, unwritten: Collection[str]) -> ModuleVerdict:
    """Say of a call of an unwritten function that this is what is wrong with it."""
    if item.callable not in unwritten or not item.source:
        return item
    return msgspec.structs.replace(item, outcome=COULD_NOT_RUN, why="it is not written yet", relative=None)


def _source(case: CaseVerdict, name: str) -> ModuleVerdict:
    kind, _, function = name.partition(".")
    return ModuleVerdict(
        case=case.name,
        model="",
        name="",
        kind=kind,
        function="" if function == "forward" else function or kind,
        outcome=COULD_NOT_RUN,
        source=True,
        why="it is not written yet",
    )

"""Why gold is refused: which of its cases that concerns, and the key that accepts it, if it is intended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CopyDisagrees, GoldRefused, TrialsFailed
from goldsmith.generate.interface_check import INTERFACE
from goldsmith.gold.checks import Check
from goldsmith.gold.files import REFERENCE_SUFFIX, TRACE_SUFFIX

_MAX_NAMED = 3


def refuse_failed(assignment: str, checks: Sequence[Check]) -> None:
    """Raise `GoldRefused` with every problem that a check has found, if any."""
    failed = [check for check in checks if check.problems]
    if not failed:
        return
    problems = [problem for check in failed for problem in check.problems]
    if failed[0].name == INTERFACE:
        raise GoldRefused(assignment, problems, _drift_hint(assignment, failed[0].accepted_by))
    cases = [case for check in failed for case in check.cases] if all(check.cases for check in failed) else []
    raise refusal(assignment, problems, failed[0].accepted_by, list(dict.fromkeys(cases)))


def refusal(assignment: str, problems: Sequence[str], keys: Sequence[str], cases: Sequence[str]) -> GoldRefused:
    """Return the refusal of gold for problems of these cases, of which `keys` accept the first."""
    allow = ", ".join(f'"{key}": "why"' for key in keys)
    where = f"case {cases[0]}" if len(cases) == 1 else "those cases"
    alone = "" if "reproducible" in keys else ", or on that value alone"
    hint = f"allow={{{allow}}} in @gs.case of {where}{alone}" if keys else ""
    return GoldRefused(assignment, problems, hint, cases)


def _drift_hint(assignment: str, parts: Sequence[str]) -> str:
    keys = ", ".join(f'"{part}" = "why"' for part in parts[:_MAX_NAMED])
    more = f" and {len(parts) - _MAX_NAMED} more" if len(parts) > _MAX_NAMED else ""
    name = assignment if re.fullmatch(r"[A-Za-z0-9_-]+", assignment) else f'"{assignment}"'
    return f"{keys}{more} below [assignment.{name}.allow-drift] in goldsmith.toml"


def is_refused(error: GoldsmithError, file: str) -> bool:
    """Return whether an error concerns this file of the gold folder: that of a case that it names, or else every
    one."""
    if isinstance(error, TrialsFailed):
        return _case_of(file) == error.case
    cases = error.cases if isinstance(error, GoldRefused | CopyDisagrees) else ()
    return _case_of(file) in cases or not cases


def _case_of(file: str) -> str:
    stem = next((file.removesuffix(end) for end in (TRACE_SUFFIX, REFERENCE_SUFFIX) if file.endswith(end)), "")
    return stem or file.rpartition(".")[0]

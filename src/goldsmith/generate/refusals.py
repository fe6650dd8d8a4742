"""Why gold is refused: which of its cases that concerns, and the key that accepts it, if it is intended.

Of a recipe that goldsmith has just drafted, such cases are taken out again: what a draft writes is right, or not there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite, CopyDisagrees, CopyFailsInSandbox, GoldRefused, TrialsFailed
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.foundation.wording import some_of
from goldsmith.generate.interface_check import INTERFACE
from goldsmith.gold.checks import Check
from goldsmith.gold.files import REFERENCE_SUFFIX, TRACE_SUFFIX
from goldsmith.source_code.case_code import cases_by_name

_MAX_NAMED = 3
Refusal = GoldRefused | CopyDisagrees | CopyFailsInSandbox


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
    keys = some_of((f'"{part}" = "why"' for part in parts), _MAX_NAMED)
    name = assignment if re.fullmatch(r"[A-Za-z0-9_-]+", assignment) else f'"{assignment}"'
    return f"{keys} below [assignment.{name}.allow-drift] in goldsmith.toml"


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


def leave_out(recipe: Path, refusal: Refusal) -> bool:
    """Replace the cases that are refused by a TODO with the reason; say whether there were any, and others stay."""
    source = recipe.read_text(encoding="utf-8")
    lines = source.split("\n")
    cases = dict(cases_by_name(syntax_tree(source)))
    refused = [name for name in cases if name in refusal.cases]
    if not refused or len(refused) == len(cases):
        return False
    for name in sorted(refused, key=lambda item: -cases[item].lineno):
        node = cases[name]
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        text = f"TODO {name}: left out, since its gold was refused. {_reason(refusal, name)}"
        lines[first - 1 : node.end_lineno] = [f"# {line}" for line in textwrap.wrap(text, 110)]
    try:
        write_durably(recipe, "\n".join(lines).encode())
    except OSError as error:
        raise CannotWrite(recipe, error.strerror or str(error)) from None
    return True


def _reason(refusal: Refusal, case: str) -> str:
    problems = list(refusal.problems) if isinstance(refusal, GoldRefused) else [refusal.reason]
    about = next((item for item in problems if case in item), problems[0] if problems else str(refusal))
    return " ".join(about.split())

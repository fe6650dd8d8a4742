"""Take the cases out of a recipe that goldsmith has just drafted which gold refuses after all: what a draft writes is
right, or not there."""

from __future__ import annotations

import textwrap
from pathlib import Path

from goldsmith.errors.gold import CannotWrite, CopyDisagrees, CopyFailsInSandbox, GoldRefused
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.source_code.case_code import cases_by_name

Refusal = GoldRefused | CopyDisagrees | CopyFailsInSandbox


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

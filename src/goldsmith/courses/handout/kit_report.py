"""Say to a student, in plain lines, what a kit shows of their work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from goldsmith.foundation.wording import count_of
from goldsmith.judge.causes import telling_case
from goldsmith.judge.leaf_words import leaf_name
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, INCONCLUSIVE, CaseVerdict, Verdict
from goldsmith.judge.words import case_sentence, part_sentence, source_lines

_WORDS = {AGREES: "right", DIFFERS: "wrong", COULD_NOT_RUN: "could not run", INCONCLUSIVE: "inconclusive"}


def kit_report(verdict: Verdict) -> list[str]:
    """Return the lines: every case, then what to look at first, then how it stands, unless nothing is wrong."""
    width = max(len(case.name) for case in verdict.cases)
    lines = [f"{verdict.assignment}: {count_of(len(verdict.cases), 'case')}.", ""]
    lines += [f"  {case.name.ljust(width)}  {_said(case)}".rstrip() for case in verdict.cases]
    lines.append("")
    first = telling_case(verdict)
    if first is not None:
        lines += _first(verdict, first)
    return [*lines, *_last(verdict)]


def _said(case: CaseVerdict) -> str:
    sentence = case_sentence(case)
    return f"{_WORDS.get(case.outcome, case.outcome)}{f': {sentence}' if sentence else ''}"


def _first(verdict: Verdict, case: CaseVerdict) -> Iterator[str]:
    found = source_lines(case, PurePath(verdict.first_place).name)
    if found:
        yield f"First wrong, in {case.name}: {found[0]}"
    elif verdict.first_divergence:
        yield f"First wrong, in {case.name}: {verdict.first_divergence}"
    elif case.first_wrong is not None:
        yield f"Look first at {case.name}: {leaf_name(case, case.first_wrong)}"


def _last(verdict: Verdict) -> Iterator[str]:
    wrong = sum(case.outcome == DIFFERS for case in verdict.cases)
    unknown = sum(case.outcome == INCONCLUSIVE for case in verdict.cases)
    failed = sum(case.outcome not in (AGREES, DIFFERS, INCONCLUSIVE) for case in verdict.cases)
    if unknown:
        yield f"{unknown} of {count_of(len(verdict.cases), 'case')} inconclusive: rounding decides there."
    if wrong:
        rest = f", {failed} could not run" if failed else ""
        yield f"{wrong} of {count_of(len(verdict.cases), 'case')} {'is' if wrong == 1 else 'are'} wrong{rest}."
    elif failed:
        yield f"{failed} of {count_of(len(verdict.cases), 'case')} could not run; nothing that ran is wrong."
    yield from (f"{part.name} is {part_sentence(part, verdict)}." for part in verdict.parts if part.unused)

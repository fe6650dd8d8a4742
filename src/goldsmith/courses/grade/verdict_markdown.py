"""Render a verdict as a Markdown comment for a student: short, with what to look at first. `verbose` adds everything,
`reveal` adds gold's values."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.comparison.results import LeafComparison
from goldsmith.courses.grade.next_step import UNWRITTEN
from goldsmith.courses.grade.redaction import code, escaped, one_line
from goldsmith.judge import leaf_words, words
from goldsmith.judge.causes import Cause, alike, by_cause, telling_case
from goldsmith.judge.verdicts import AGREES, ERROR, CaseVerdict, Verdict

_FRAMES = 3
_MAX_OTHERS, _MAX_NAMES = 4, 5
"""Other things that are wrong, each told in one line."""


def verdict_markdown(verdict: Verdict, *, reveal: bool = False, verbose: bool = False) -> str:
    """Render the whole comment; a `verbose` one describes every case and part."""
    lines = [f"### {escaped(verdict.assignment)}: {words.OUTCOMES[verdict.outcome]}", "", _sentence(verdict)]
    lines += [""] + (everything(verdict, reveal=reveal) if verbose else what_to_look_at(verdict, reveal=reveal))
    notes = words.notes_of(verdict)
    if notes:
        lines += ["", *(f"- Note: {escaped(note)}." for note in notes)]
    return "\n".join(lines).rstrip()


def what_to_look_at(verdict: Verdict, *, reveal: bool = False) -> list[str]:
    """Describe the case that shows best what is wrong, as a list; then what else is wrong, each in one line."""
    case = telling_case(verdict)
    if case is None or case.outcome == ERROR or (verdict.not_started and case.kind == "stub"):
        return []
    first, *others = (cause for cause in by_cause(verdict) if cause.cases[0].outcome != ERROR)
    lines = [f"- shown by {code(case.name)}{f': {escaped(case.title)}' if case.title else ''}"]
    if len(first.cases) == len(verdict.cases) > 1:
        lines = ["- the same in every case"]
    elif len(first.cases) > 1:
        lines.append(f"- the same error in {_names([item.name for item in first.cases if item is not case])}")
    lines += [f"- {escaped(line)}" for line in words.module_lines(case, verdict.first_place)]
    if case.failure is not None:
        lines += _traceback(case)
    elif case.first_wrong is not None:
        lines += _leaf(case, case.first_wrong, reveal)
    return [*lines, "", "Also:", "", *_others(others)] if others else lines


def _others(causes: Sequence[Cause]) -> list[str]:
    """Name what else is wrong, each in one line; everything that is not written yet is in the same one."""
    empty = [cause for cause in causes if cause.cases[0].reason.endswith(UNWRITTEN)]
    names = [code(cause.cases[0].reason.removesuffix(UNWRITTEN)) for cause in empty]
    lines = [f"- {words.joined(names)} are not written yet"] if len(names) > 1 else []
    rest = [cause for cause in causes if cause not in empty] if lines else list(causes)
    lines += [f"- {_in_one_line(cause)}" for cause in rest[:_MAX_OTHERS]]
    return [*lines, f"- and {len(rest) - _MAX_OTHERS} more"] if len(rest) > _MAX_OTHERS else lines


def _in_one_line(cause: Cause) -> str:
    """Name what is wrong, and the cases that it makes wrong."""
    names = _names([case.name for case in (*cause.cases, *cause.others)])
    return f"{escaped(words.cause_sentence(cause))} (in {names})"


def _names(names: Sequence[str]) -> str:
    """List names as code, the first few of them."""
    shown = [code(name) for name in names[:_MAX_NAMES]]
    return words.joined([*shown, f"{len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else shown)


def everything(verdict: Verdict, *, reveal: bool = False) -> list[str]:
    """Render every case and part in tables, then describe every case that is not right."""
    lines = ["| case | outcome | what is wrong |", "|---|---|---|"]
    lines += [_row(case.name, words.OUTCOMES[case.outcome], why) for case, why in words.rows(verdict.cases)]
    if verdict.parts and verdict.outcome != AGREES:
        lines += ["", "| part | outcome | |", "|---|---|---|"]
        lines += [
            _row(part.name, words.OUTCOMES[part.outcome], words.part_sentence(part, verdict)) for part in verdict.parts
        ]
    for same in alike(case for case in verdict.cases if case.outcome != AGREES):
        lines += _explain(same, reveal)
    return lines


def _sentence(verdict: Verdict) -> str:
    text = words.headline(verdict)
    first = text[:1] if verdict.missing else text[:1].upper()  # a file's name stays as it is
    return escaped(words.ended(first + text[1:]))


def _explain(same: Sequence[CaseVerdict], reveal: bool) -> list[str]:
    """Describe cases that failed for the same reason."""
    case = same[0]
    heading = ["", f"**{escaped(case.name)}**" + (f": {escaped(case.title)}" if case.title else ""), ""]
    if len(same) > 1:
        heading = ["", f"**{escaped(', '.join(item.name for item in same))}**", ""]
    lines = [f"- {escaped(line)}" for line in words.module_lines(case)]
    if case.failure is not None:
        lines += _traceback(case)
    leaf = case.first_wrong
    if leaf is not None:
        lines += _leaf(case, leaf, reveal)
    return [*heading, *lines] if lines else []


def _leaf(case: CaseVerdict, leaf: LeafComparison, reveal: bool) -> list[str]:
    """Describe the record that is wrong, how far it is off, and where."""
    name = leaf_words.leaf_name(case, leaf)
    items, of, whole = name.rpartition(" of ") if name.startswith("item ") else ("", "", name)
    shown = f"{items}{of}{whole if whole.startswith('the ') else code(whole)}"  # "the output", where there is only one
    lines = [f"- {shown} {escaped(leaf_words.how_far(leaf))}"]
    more = [*leaf_words.leaf_lines(leaf, reveal=reveal), *leaf_words.choice_lines(case, leaf, reveal=reveal)]
    return lines + [f"  - {escaped(line)}" for line in more]


def _traceback(case: CaseVerdict) -> list[str]:
    """Show where a case failed; nothing if that is not known, since the reason has been given."""
    if case.failure is None or not case.failure.frames:
        return []
    frames = [f"{item.place} in {item.function}: {item.text}" for item in case.failure.frames[-_FRAMES:]]
    return ["", "```text", *(_fence(line) for line in (*frames, words.one_line(case.failure.message))), "```"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _fence(text: str) -> str:
    return one_line(text).replace("```", "'''")

"""A verdict as a comment to a student, in Markdown. Gold's values are in it only when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.checking import AGREES, CaseVerdict, Verdict, shown_path
from goldsmith.grading.texts import clean, escaped
from goldsmith.report import words

_FRAMES = 3


def verdict_markdown(verdict: Verdict, *, reveal: bool = False) -> str:
    """The whole comment."""
    lines = [f"### {escaped(verdict.assignment)}: {words.OUTCOMES[verdict.outcome]}", "", _sentence(verdict), ""]
    lines += ["| case | outcome | what is wrong |", "|---|---|---|"]
    lines += [_row(case.name, words.OUTCOMES[case.outcome], why) for case, why in words.rows(verdict.cases)]
    if verdict.parts and verdict.outcome != AGREES:
        lines += ["", "| part | outcome | |", "|---|---|---|"]
        lines += [_row(part.name, words.OUTCOMES[part.outcome], words.part_sentence(part)) for part in verdict.parts]
    for same in words.alike(case for case in verdict.cases if case.outcome != AGREES):
        lines += _explained(same, reveal)
    notes = words.notes_of(verdict)
    if notes:
        lines += ["", *(f"- Note: {escaped(note)}." for note in notes)]
    return "\n".join(lines)


def _sentence(verdict: Verdict) -> str:
    text = words.headline(verdict)
    return escaped(words.ended(text[:1].upper() + text[1:]))


def _explained(same: Sequence[CaseVerdict], reveal: bool) -> list[str]:
    """What is to be said about cases that are alike."""
    case = same[0]
    heading = ["", f"**{escaped(case.name)}**" + (f": {escaped(case.title)}" if case.title else ""), ""]
    if len(same) > 1:
        heading = ["", f"**{escaped(', '.join(item.name for item in same))}**", ""]
    lines = [f"- {escaped(line)}" for line in words.module_lines(case)]
    if case.failure is not None:
        frames = [f"{item.file}:{item.line} in {item.function}: {item.text}" for item in case.failure.frames[-_FRAMES:]]
        lines += ["```text", *(_fenced(line) for line in (*frames, words.one_line(case.failure.message))), "```"]
    worst = case.worst
    if worst is not None:
        lines.append(f"- {escaped(shown_path(worst.path))} {escaped(words.how_far(worst))}")
        lines += [f"  - {escaped(line)}" for line in words.leaf_lines(worst, reveal=reveal)]
    return [*heading, *lines] if lines else []


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _fenced(text: str) -> str:
    return clean(text).replace("```", "'''")

"""Feedback for the student, in Markdown: the score and what it is made of, the next step, then the details.

It contains no values of gold's, no paths of the grader's and no lines of the solution; and nothing that a submission
has printed, named or raised can become markup.
"""

from __future__ import annotations

import msgspec

from goldsmith.courses.grade.grades import Grade, PartResult
from goldsmith.courses.grade.moves import moved_sentence
from goldsmith.courses.grade.next_step import as_markdown, next_step
from goldsmith.courses.grade.redaction import Redaction, code, escaped, redact
from goldsmith.courses.grade.rubric import CASE
from goldsmith.courses.grade.scoring import NOT_JUDGED, ItemResult, number
from goldsmith.courses.grade.verdict_markdown import everything, what_to_look_at
from goldsmith.judge import words
from goldsmith.judge.verdicts import AGREES, ERROR, INCONCLUSIVE, SILENT, Verdict

OUTCOMES: dict[str, str] = {**{str(key): word for key, word in words.OUTCOMES.items()}, NOT_JUDGED: "not judged"}


def feedback_markdown(grade: Grade, verdict: Verdict, veil: Redaction | None = None, *, verbose: bool = False) -> str:
    """Render the whole file. The grade was made from `verdict`. With `verbose`, describe every case and part as
    well."""
    shown = msgspec.structs.replace(redact(verdict, veil or Redaction()), first_case=grade.first_case)
    lines = [f"## {escaped(grade.assignment)}: {number(grade.score)} of {number(grade.points)} points", ""]
    details = [] if grade.missing and not grade.first_elsewhere else what_to_look_at(shown)
    lines += [f"**Next step.** {as_markdown(next_step(grade))}", *(["", *details] if details else [])]
    moved = [escaped(moved_sentence(grade.moved, grade.points))] if grade.moved else []
    for text in (*moved, *_points(grade), *_not_judged(grade), *_remarks(grade)):
        lines += ["", text]
    if verbose and verdict.cases:
        lines += ["", *_table(grade), "", *everything(shown)]
    return "\n".join(lines).rstrip() + "\n"


def _points(grade: Grade) -> list[str]:
    """List what earned its points and what did not, one line for each group."""
    full = [item for item in grade.items if item.points and item.earned == item.points]
    some = [item for item in grade.items if 0 < item.earned < item.points]
    none = [item for item in grade.items if item.points and not item.earned and item.outcome != NOT_JUDGED]
    lines = []
    if full and none + some:
        lines.append(f"**All points:** {_named(full)}.")
    if some:
        shares = [f"{code(item.name)} ({number(item.earned)} of {number(item.points)})" for item in some]
        lines.append(f"**Some points:** {', '.join(shares)}.")
    by_standing: dict[str, list[ItemResult]] = {}
    for item in none:
        by_standing.setdefault(_standing(item), []).append(item)
    if len(by_standing) == 1 and len(none) == len(grade.items) > 1:
        return [f"**No points yet**, {next(iter(by_standing))}: everything."]
    return lines + [f"**No points yet**, {standing}: {_named(items)}." for standing, items in by_standing.items()]


def _not_judged(grade: Grade) -> list[str]:
    """Say of everything that nothing is known about why that is, and what would change it."""
    by_reason: dict[str, dict[str, None]] = {}
    judged: list[ItemResult | PartResult] = [*grade.items, *grade.parts]
    for item in judged:
        if item.outcome == NOT_JUDGED:
            by_reason.setdefault(item.why.removeprefix("not judged: "), {})[item.name] = None
    lines = [f"- {', '.join(map(code, names))}: {escaped(why)}." for why, names in by_reason.items()]
    return ["\n".join(["**Not judged**, which is not the same as wrong:", "", *lines])] if lines else []


def _named(items: list[ItemResult]) -> str:
    return ", ".join(code(item.name) for item in items)


def _standing(item: ItemResult) -> str:
    if item.withheld:
        return "right, but withheld"
    if item.outcome == ERROR:
        return "withheld, and not for anything that you did"
    if item.outcome == INCONCLUSIVE:
        return "since rounding decides, which staff will look at"
    if item.outcome == AGREES:
        return "which somebody will look at"
    return OUTCOMES[item.outcome]


def _table(grade: Grade) -> list[str]:
    rows = []
    for item in grade.items:
        outcome = f"{OUTCOMES[item.outcome]}{', withheld' if item.withheld else ''}"
        told_below = item.kind == CASE and item.outcome in words.OUTCOMES and not item.earned and not item.withheld
        why = "" if told_below or (item.outcome == AGREES and not item.withheld) else item.why
        rows.append((item.name, f"{number(item.earned)} of {number(item.points)}", outcome, why))
    columns = 4 if any(row[-1] for row in rows) else 3
    lines = [f"| {' | '.join(map(escaped, row[:columns]))} |" for row in rows]
    return [f"| | points | outcome |{' |' * (columns - 3)}", f"|{'---|' * columns}", *lines]


def _remarks(grade: Grade) -> list[str]:
    found = [f"Note: {escaped(item)}." for item in (*grade.choices, *grade.unfinished)]
    if any(item.withheld for item in grade.items):
        found.append("What is withheld is right by itself, and counts as soon as what it needs is right, too.")
    if grade.review:
        every = len(grade.review) == len(grade.items) > 1
        found.append(f"Marked for review by staff: {'everything' if every else ', '.join(map(code, grade.review))}.")
    if grade.forbidden:
        cost = f" That costs {number(grade.forbidden_costs)} points." if grade.forbidden_costs else ""
        where = escaped(", ".join(grade.forbidden))
        found.append(f"It uses what this assignment asks you to do without: {where}.{cost}")
    if grade.stand_ins:
        names = escaped(", ".join(grade.stand_ins))
        found.append(f"These packages are not installed here, so stand-ins that do nothing took their place: {names}.")
    return found


def item_text(grade: Grade, name: str, kind: str) -> str:
    """Describe one item as plain text: its case's title, and its reason."""
    item = next(item for item in grade.items if (item.name, item.kind) == (name, kind))
    case = next((case for case in grade.cases if kind == CASE and case.name == name), None)
    lines = [case.title] if case and case.title else []
    says_so = item.outcome in (*SILENT, NOT_JUDGED, ERROR)
    said = "" if says_so else f"{OUTCOMES[item.outcome]}: "
    return "\n".join([*lines, f"{said}{item.why}"])

"""The class as a whole: outcomes, scores, how often each case and part failed, and which submissions share a
mistake."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from goldsmith.check.recipe_failures import FORM, RECIPE
from goldsmith.courses.grade.feedback import OUTCOMES
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.redaction import escaped, one_line
from goldsmith.courses.grade.rubric import CASE, PART, Kind
from goldsmith.courses.grade.scoring import NOT_JUDGED, number, total
from goldsmith.foundation.wording import count_of
from goldsmith.judge.leaf_words import size_words
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, INCONCLUSIVE, PROVIDED_CHANGED
from goldsmith.judge.words import missing_files

ORDER: tuple[str, ...] = (AGREES, DIFFERS, PROVIDED_CHANGED, COULD_NOT_RUN, INCONCLUSIVE, ERROR, NOT_JUDGED)
_SAME_SIZE = 1.02
"""Largest ratio of two relative errors for which two submissions count as having made the same mistake."""
_NAMED = 6


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How often a case or a part had which outcome."""

    name: str
    """The case or part."""
    kind: Kind
    """`case` or `part`."""
    outcomes: dict[str, int]
    """How often it had which outcome."""

    @property
    def failed(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome in (DIFFERS, COULD_NOT_RUN))


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Submissions that go wrong at the same place for the same reason, by the same amount where that is known."""

    outcome: str
    """Their outcome."""
    first_divergence: str
    """The module or function that goes wrong first."""
    cause: str
    """The kind of what is wrong there."""
    description: str
    """What they share, in words."""
    names: tuple[str, ...]
    """Whose they are."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a class; `mean` and `median` are None where nobody was graded."""

    assignment: str
    """The assignment."""
    submissions: int
    """How many there are."""
    points: float
    """What could be earned."""
    outcomes: dict[str, int]
    """How many had which outcome."""
    mean: float | None
    """The mean score; null where nobody was graded."""
    median: float | None
    """The median score; null where nobody was graded."""
    cases: tuple[Tally, ...]
    """How each case went."""
    parts: tuple[Tally, ...]
    """How each part went."""
    clusters: tuple[Cluster, ...]
    """Mistakes that several share, largest group first."""
    review: tuple[str, ...]
    """Submissions that a person should look at."""
    notes: tuple[str, ...]
    """What is worth knowing about the class."""


def overview_of(assignment: str, grades: Sequence[Grade], notes: Iterable[str] = ()) -> Overview:
    """Count outcomes and scores; `notes` come before its own. The order of `grades` only affects the order of names."""
    scores = [grade.score for grade in grades]
    cases = _tallies(CASE, ((case.name, case.outcome) for grade in grades for case in grade.cases))
    parts = _tallies(PART, ((part.name, part.outcome) for grade in grades for part in grade.parts))
    found: Counter[str] = Counter(grade.outcome for grade in grades)
    return Overview(
        assignment=assignment,
        submissions=len(grades),
        points=max((grade.points for grade in grades), default=0.0),
        outcomes={outcome: found[outcome] for outcome in ORDER if outcome in found},
        mean=round(total(scores) / len(scores), 3) if scores else None,
        median=round(statistics.median(scores), 3) if scores else None,
        cases=cases,
        parts=parts,
        clusters=tuple(map(_cluster, by_mistake(grades))),
        review=tuple(grade.name for grade in grades if grade.review),
        notes=(*notes, *_notes(grades)),
    )


def _tallies(kind: Kind, outcomes: Iterable[tuple[str, str]]) -> tuple[Tally, ...]:
    """Count outcomes by name, in the order in which names first appear: the recipe's."""
    found: dict[str, Counter[str]] = {}
    for name, outcome in outcomes:
        found.setdefault(name, Counter())[outcome] += 1
    return tuple(
        Tally(name=name, kind=kind, outcomes={item: count[item] for item in ORDER if item in count})
        for name, count in found.items()
    )


def _notes(grades: Sequence[Grade]) -> Iterator[str]:
    """Yield notes for staff: files that were not submitted; which of several files was used; files whose import failed
    half-way; changed code; forbidden uses; files and packages that submissions lacked; items that nobody was judged on,
    for which the rubric is probably to blame."""
    by_file: dict[str, list[str]] = {}
    for grade in grades:
        for file in grade.missing:
            by_file.setdefault(file, []).append(grade.name)
    for file, without in by_file.items():
        yield f"{file} is missing in {count_of(len(without), 'submission')}; the starter's was used: {named(without)}"
    for grade in grades:
        if grade.choices:
            yield f"{grade.name}: {'; '.join(grade.choices)}"
        if grade.unfinished:
            yield f"{grade.name}: {'; '.join(grade.unfinished)}"
        if grade.untried:
            yield f"{grade.name} changed provided code that no case runs: {', '.join(grade.untried)}"
        if grade.forbidden:
            yield f"{grade.name} uses what is forbidden: {', '.join(grade.forbidden)}"
    for sentence, count in Counter(item for grade in grades for item in grade.not_given).most_common():
        yield f"{sentence} ({count_of(count, 'submission')})"
    missing = Counter(package for grade in grades if not grade.not_given for package in grade.packages)
    if missing:
        names = ", ".join(f"{name} ({count})" for name, count in missing.most_common())
        yield (
            f"not installed here, so that submissions could not run: {names}; install them, or name those that grading "
            "does not need as stand-ins in goldsmith.toml"
        )
    for kind, name in dict.fromkeys((item.kind, item.name) for grade in grades for item in grade.items):
        outcomes = {item.outcome for grade in grades for item in grade.items if (item.kind, item.name) == (kind, name)}
        if outcomes == {NOT_JUDGED}:
            yield f"nobody was judged on the {kind} {name}: no case shows it by itself"


# --- clusters -------------------------------------------------------------------------------------------------------


def by_mistake(grades: Sequence[Grade]) -> list[list[Grade]]:
    """Group submissions that share a mistake, largest group first; what the course's own code did wrong is none of
    theirs."""
    places: dict[tuple[str, ...], list[Grade]] = {}
    for grade in grades:
        if grade.outcome != AGREES and grade.cause not in (RECIPE, FORM):
            places.setdefault(_place(grade), []).append(grade)
    found = [some for there in places.values() for some in _by_size(there)]
    return sorted(found, key=lambda some: (-len(some), some[0].outcome, _cluster(some).description))


def _place(grade: Grade) -> tuple[str, ...]:
    """Return where a submission goes wrong, and how."""
    if _is_incomplete(grade):
        return COULD_NOT_RUN, "missing", *grade.missing
    if grade.outcome in (COULD_NOT_RUN, INCONCLUSIVE, ERROR):
        return grade.outcome, grade.cause, _why(grade)
    if grade.outcome == PROVIDED_CHANGED:
        return grade.outcome, *sorted(grade.provided)
    where = grade.first_part or next((case.name for case in grade.cases if case.outcome == DIFFERS), "")
    return grade.outcome, where, grade.cause


def _is_incomplete(grade: Grade) -> bool:
    """Return whether nothing but a file that is missing is known to be wrong."""
    return bool(grade.missing) and not grade.first_elsewhere and grade.outcome == COULD_NOT_RUN


def _why(grade: Grade) -> str:
    return grade.telling.why if grade.telling else grade.reason


def _by_size(grades: list[Grade]) -> Iterator[list[Grade]]:
    """Split submissions that differ by how far they are off: the same mistake on the same inputs has the same error.
    Where that is not known, as for text, split by the description."""
    if grades[0].outcome != DIFFERS:
        yield grades
        return
    by_words: dict[str, list[Grade]] = {}
    for grade in grades:
        if not grade.off_by:
            by_words.setdefault(_why(grade), []).append(grade)
    yield from by_words.values()
    together: list[Grade] = []
    for grade in sorted((item for item in grades if item.off_by), key=lambda item: (item.off_by or 0.0, item.name)):
        if together and (grade.off_by or 0.0) > _SAME_SIZE * (together[0].off_by or 0.0):
            yield together
            together = []
        together.append(grade)
    if together:
        yield together


def _cluster(grades: list[Grade]) -> Cluster:
    first = grades[0]
    return Cluster(
        outcome=first.outcome,
        first_divergence=first.first_divergence,
        cause=first.cause,
        description=one_line(_describe(first)),
        names=tuple(grade.name for grade in grades),
    )


def _describe(grade: Grade) -> str:
    if grade.outcome == ERROR:
        return _why(grade)
    if _is_incomplete(grade):
        return missing_files(grade.missing)
    if grade.outcome == COULD_NOT_RUN:
        return f"could not run: {_why(grade)}"
    if grade.outcome == INCONCLUSIVE:
        return f"inconclusive: {_why(grade)}"
    if grade.outcome == PROVIDED_CHANGED:
        return f"provided code was changed: {', '.join(sorted(grade.provided))}"
    where = next((case.name for case in grade.cases if case.outcome == DIFFERS), "")
    what = f"{grade.first_part} goes wrong first" if grade.first_part else f"{where} differs, nobody knows where"
    off = f", by {size_words(grade.off_by)}" if grade.off_by else ""
    why = f": {_why(grade)}" if grade.cause not in ("", "values") else ""
    return f"{what}{off}{why}"


# --- words ----------------------------------------------------------------------------------------------------------


def summary_line(overview: Overview) -> str:
    """Summarise the class in one line."""
    count = overview.submissions
    if not count or overview.mean is None or overview.median is None:
        return f"{overview.assignment}: no submission was graded."
    said = ", ".join(f"{found} {OUTCOMES[outcome]}" for outcome, found in overview.outcomes.items())
    scores = f"mean {number(overview.mean)} of {number(overview.points)}, median {number(overview.median)}"
    needy = len(overview.review)
    look = f"; {needy} need{'s' if needy == 1 else ''} review" if needy else ""
    return f"{overview.assignment}: {count_of(count, 'submission')} graded ({said}), {scores}{look}."


def tally_rows(tallies: Sequence[Tally]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows, with a column for each outcome that occurs."""
    seen = [outcome for outcome in ORDER if any(outcome in tally.outcomes for tally in tallies)]
    rows = [[tally.name, *(str(tally.outcomes.get(outcome) or "·") for outcome in seen)] for tally in tallies]
    return [OUTCOMES[outcome] for outcome in seen], rows


def named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def overview_markdown(overview: Overview) -> str:
    lines = [f"# {escaped(overview.assignment)}", "", escaped(summary_line(overview))]
    for title, tallies in (("case", overview.cases), ("part", overview.parts)):
        if tallies:
            headings, rows = tally_rows(tallies)
            lines += ["", f"| {' | '.join([title, *headings])} |", f"|---|{'---:|' * len(headings)}"]
            lines += [f"| {' | '.join(map(escaped, row))} |" for row in rows]
    if overview.clusters:
        lines += ["", "## Who shares a mistake", "", "| how many | what | who |", "|---:|---|---|"]
        for item in overview.clusters:
            who = ", ".join(map(escaped, item.names))
            lines.append(f"| {len(item.names)} | {escaped(item.description)} | {who} |")
    if overview.review:
        lines += ["", "## Needs review", "", *(f"- {escaped(name)}" for name in overview.review)]
    lines += ["", *(f"Note: {escaped(note)}." for note in overview.notes)] if overview.notes else []
    return "\n".join(lines) + "\n"

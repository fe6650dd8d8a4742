"""Grades: one submission's score with its reasons, as plain data from which all result files are made.

All text in a grade has been cleaned, and contains nothing of gold's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from goldsmith.courses.grade.moves import Moved
from goldsmith.courses.grade.redaction import Redaction, one_line, redact
from goldsmith.courses.grade.rubric import PART, Rubric
from goldsmith.courses.grade.scoring import ItemOutcome, ItemResult, Scorer, total
from goldsmith.courses.guard.similarity import Similarity
from goldsmith.judge import words
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, ERROR, CaseVerdict, Outcome, Verdict

_MAX_NAME_CHARS = 80
UNSANDBOXED = "none"
"""What is recorded as a submission's sandbox where there was none."""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """A case in one line; `cause` is the kind of what is wrong, such as values, stub, import, timeout."""

    name: str
    """The case."""
    title: str
    """The first line of the case's docstring."""
    outcome: ItemOutcome
    """The verdict on it."""
    why: str = ""
    """What is wrong, in words."""
    cause: str = ""
    """The kind of what is wrong, such as `values`, `stub`, `import` or `timeout`."""
    judged_in: str = ""
    """The dtype that decided."""
    first_divergence: str = ""
    """The module or function that goes wrong first."""


class PartResult(msgspec.Struct, frozen=True, kw_only=True):
    """A class or function of the assignment in one line."""

    name: str
    """The class or function."""
    outcome: ItemOutcome
    """The verdict on it."""
    why: str = ""
    """What is wrong, in words."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """One submission. `first_part` is the class of the module `first_divergence`, or the function itself; `cause` is
    the kind of what is wrong there. `off_by` (the relative error), `similarity` to the solution by part, `sandbox` and
    `seconds` are for staff; `digest` identifies what was graded."""

    name: str
    """The submission."""
    assignment: str
    """The assignment."""
    outcome: Outcome
    """The verdict of `goldsmith check`."""
    score: float
    """What it earned."""
    points: float
    """What could be earned."""
    items: tuple[ItemResult, ...]
    """What each line of the rubric came to."""
    cases: tuple[CaseResult, ...] = ()
    """Every case."""
    parts: tuple[PartResult, ...] = ()
    """Every class and function that students write."""
    reason: str = ""
    """The verdict in one sentence."""
    first_divergence: str = ""
    """The module or function that goes wrong first."""
    first_part: str = ""
    """Its class, or the function itself."""
    first_name: str = ""
    """What goes wrong first, in the submission's own names."""
    first_functions: tuple[str, ...] = ()
    """The method or function in which it goes wrong, as the submission defines it; several where it is one of them."""
    first_place: str = ""
    """Where that is defined, as file and line."""
    not_started: bool = False
    """Whether what is left to students still is as it was given to them."""
    first_case: str = ""
    """The case that the verdict is known by; of those that could not run, the one that needs the least."""
    cause: str = ""
    """The kind of what is wrong there."""
    off_by: float | None = None
    """How far off it is, over the size of gold's; null where that is not known."""
    missing: tuple[str, ...] = ()
    """Files that students write and that were not submitted: the starter's were used."""
    provided: tuple[str, ...] = ()
    """Provided code that was changed."""
    untried: tuple[str, ...] = ()
    """Provided code that was changed and that no case runs, where all cases are right."""
    choices: tuple[str, ...] = ()
    """Which of several submitted files was used for one place, and which was not."""
    unfinished: tuple[str, ...] = ()
    """Files that raised an error while they were imported; what they had defined by then was used."""
    notes: tuple[str, ...] = ()
    """Harmless differences."""
    stand_ins: tuple[str, ...] = ()
    """Packages that inert modules took the place of."""
    packages: tuple[str, ...] = ()
    """Packages that it imports and that are not installed here."""
    forbidden: tuple[str, ...] = ()
    """Where it uses what the assignment forbids, as file and line."""
    forbidden_costs: float = 0.0
    """The points that this has cost."""
    not_given: tuple[str, ...] = ()
    """Files of the course and installed packages that it asked for and that submissions do not get; for staff."""
    similarity: dict[str, Similarity] | None = None
    """By part, statements that are as in the solution, for staff; null where they were not counted."""
    sandbox: str = ""
    """The sandbox layers that were in place."""
    seconds: float = 0.0
    """How long it took."""
    digest: str = ""
    """Hash of what was graded."""
    moved: Moved | None = None
    """How its points moved since an earlier run; null where they did not, or there is none."""

    @property
    def review(self) -> tuple[str, ...]:
        """List what needs review."""
        used = dict.fromkeys(use.partition(" ")[0] for use in self.forbidden)
        return (*(item.name for item in self.items if item.needs_review), *used, *self.untried)

    @property
    def telling(self) -> CaseResult | None:
        """Return the case that determines the outcome; None if all agree."""
        return next((case for case in self.cases if case.name == self.first_case), None)

    @property
    def first_elsewhere(self) -> str:
        """Return the part that goes wrong first, unless it stands in a file that is missing; then it says nothing."""
        return "" if self.first_place.rpartition(":")[0] in self.missing else self.first_part

    def plain(self) -> dict[str, Any]:
        """Return every field, as JSON can hold it, for staff."""
        return {**msgspec.to_builtins(self), "review": list(self.review)}


def with_similarity(made: Grade, similar: Mapping[str, Similarity]) -> Grade:
    """Add what is as in the solution; that is known once the whole class is."""
    clean = {
        one_line(part): msgspec.structs.replace(item, first=one_line(item.first), last=one_line(item.last))
        for part, item in similar.items()
    }
    return msgspec.structs.replace(made, similarity=clean)


def grade(
    verdict: Verdict,
    rubric: Rubric,
    *,
    veil: Redaction | None = None,
    stand_ins: Iterable[str] = (),
    sandbox: str = "",
    digest: str = "",
    notes: Iterable[str] = (),
    name: str = "",
    forbidden_costs: float = 0.0,
) -> Grade:
    """Score a verdict. `name` is what people call the submission, if that is not the verdict's own. Forbidden uses cost
    points only where they are in the code: what a process reports about itself proves nothing."""
    shown = redact(verdict, veil or Redaction())
    scene = Scorer(shown, rubric)
    items = tuple(_clean(scene.result(item)) for item in rubric.items)
    first = _first_wrong(shown, scene)
    score, cost = score_of(items, verdict, forbidden_costs)
    return Grade(
        name=one_line(name) or shown.name,
        assignment=shown.assignment,
        outcome=shown.outcome,
        score=score,
        points=total([item.points for item in items]),
        items=items,
        cases=tuple(_case_result(case) for case in shown.cases),
        parts=tuple(_part_result(part, scene) for part in rubric.parts),
        reason=one_line(words.headline(shown)) if shown.cases else "nothing was run",
        first_divergence=shown.first_divergence,
        first_part=shown.first_part,
        first_name=shown.first_name,
        first_functions=shown.first_functions,
        first_place=shown.first_place,
        not_started=shown.not_started,
        first_case=first.name if first else "",
        cause=first.kind if first else "",
        off_by=_off_by(first, shown.first_divergence) if first else None,
        missing=shown.missing,
        provided=shown.provided,
        untried=shown.untried,
        choices=tuple(one_line(item) for item in shown.choices),
        unfinished=tuple(one_line(item) for item in shown.unfinished),
        notes=tuple(one_line(note) for note in (*words.notes_of(shown), *notes)),
        stand_ins=tuple(one_line(item) for item in stand_ins),
        packages=_missing_packages(shown),
        forbidden=tuple(one_line(use.words) for use in verdict.forbidden),
        forbidden_costs=cost,
        not_given=tuple(one_line(item) for item in verdict.not_given),
        sandbox=one_line(sandbox),
        seconds=round(verdict.seconds, 3),
        digest=digest,
    )


def score_of(items: Iterable[ItemResult], verdict: Verdict, forbidden_costs: float) -> tuple[float, float]:
    """Return what a submission earns by its items, and what forbidden uses cost it of that."""
    earned = total([item.earned for item in items])
    cost = min(earned, forbidden_costs) if any(use.in_code for use in verdict.forbidden) else 0.0
    return round(earned - cost, 9) if cost else earned, cost


def rejected(name: str, assignment: str, rubric: Rubric, why: str) -> Verdict:
    """Return the verdict on what could not be opened as a submission: no case could run, for the reason `why`."""
    cases = tuple(
        CaseVerdict(name=case, title="", outcome=COULD_NOT_RUN, reason=why, kind="unopened") for case in rubric.cases
    )
    return Verdict(name=name, assignment=assignment, outcome=COULD_NOT_RUN, cases=cases)


def failed(name: str, assignment: str, rubric: Rubric, error: Exception) -> Verdict:
    """Return an error verdict for every case, where goldsmith itself failed."""
    why = f"goldsmith could not judge this: {str(error) or repr(error)}"
    cases = tuple(CaseVerdict(name=case, title="", outcome=ERROR, reason=why, kind="error") for case in rubric.cases)
    return Verdict(name=name, assignment=assignment, outcome=ERROR, cases=cases)


def _clean(item: ItemResult) -> ItemResult:
    return msgspec.structs.replace(item, why=one_line(item.why))


def _case_result(case: CaseVerdict) -> CaseResult:
    return CaseResult(
        name=case.name,
        title=case.title,
        outcome=case.outcome,
        why=one_line(words.case_sentence(case)),
        cause=case.kind,
        judged_in=case.judged_in,
        first_divergence=case.first_divergence,
    )


def _part_result(name: str, scene: Scorer) -> PartResult:
    seen = scene.seen(PART, name)
    return PartResult(name=name, outcome=seen.outcome, why=one_line(seen.why))


def _missing_packages(verdict: Verdict) -> tuple[str, ...]:
    found = [case.failure.package for case in verdict.cases if case.failure is not None and case.kind == "package"]
    return tuple(dict.fromkeys(one_line(name[:_MAX_NAME_CHARS]) for name in found if name))


def _first_wrong(verdict: Verdict, scene: Scorer) -> CaseVerdict | None:
    """Return the case that determines the outcome: of those that could not run, the one with the fewest parts."""
    if verdict.outcome == AGREES:
        return None
    found = [case for case in verdict.cases if case.outcome == verdict.outcome]
    first = next((case for case in found if case.name == verdict.first_case), None)
    return first or min(found, key=scene.width, default=None)


def _off_by(case: CaseVerdict, module: str) -> float | None:
    """Return the relative error of the first wrong module, or else of the first wrong record: the same mistake has the
    same error."""
    found = [item.relative for item in case.modules if item.source and item.label == module and not item.alone]
    if case.first_wrong is not None:
        found.append(case.first_wrong.relative)
    return next((relative for relative in found if relative is not None and math.isfinite(relative)), None)

"""The one thing that a student should do next, as words; each rendering marks names in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from goldsmith.check.recipe_failures import FORM, RECIPE
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.redaction import code, escaped
from goldsmith.courses.grade.scoring import NOT_JUDGED
from goldsmith.foundation.wording import count_of
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, INCONCLUSIVE, PROVIDED_CHANGED

UNWRITTEN = " is not written yet"
_ONLY = "it is the only part that is wrong"
_MOST_NAMES = 6
"""How many parts a sentence names; all are in the lists below it."""
_NEXT = {
    "import": 'Make sure that your files can be imported on their own: run `python -c "import …"` in a fresh folder.',
    "package": "If that is a package, it is not installed where this was graded: that is not your fault, and staff "
    "have been told. If it is a file of your own, submit it too.",
    "device": "Let whoever runs it choose the device: what asks for `cuda` or `mps` cannot run where there is none.",
    "call": "Keep the names and arguments that the starter has: it was called as the assignment says.",
    "none": "Check that every function ends in a `return`.",
    "weights": "Keep the layers and shapes that the assignment asks for, so that given weights find their place.",
    "own-weights": "Nothing, for now: your model ran with weights of its own, which decide its results; staff look.",
    "timeout": "Look for a loop that never ends, or for work that is done again and again.",
    "memory": "Look for what grows without bound, or for a tensor with a dimension too many.",
    "killed": "It was stopped from outside: look for what crashes the interpreter or uses far too much memory.",
    "exit": 'Take out calls to `exit()`; put what runs a demonstration under `if __name__ == "__main__":`.',
    "unopened": "Submit the files that the assignment asks for, under the names it asks for.",
}


_FIRST = "it is the first to go wrong, and what comes after it may already be right"


class Piece(NamedTuple):
    """A part of a sentence: words of ours, with code in backticks; a `name` from code; or text `quoted` from
    elsewhere."""

    text: str
    kind: Literal["words", "name", "quoted"] = "words"


def as_markdown(pieces: Sequence[Piece]) -> str:
    """Render a sentence for Markdown, in which nothing quoted can become markup."""
    marked: dict[str, Callable[[str], str]] = {"words": str, "name": code, "quoted": escaped}
    return "".join(marked[piece.kind](piece.text) for piece in pieces)


def next_step(grade: Grade) -> tuple[Piece, ...]:
    """Return one thing to do, the most useful one; a file that is missing comes before everything."""
    if not grade.missing:
        return _next_step(grade)
    one = len(grade.missing) == 1
    submit = (
        Piece("Submit "),
        *_names(grade.missing),
        Piece(f": {'it is' if one else 'they are'} missing, and the starter's {'was' if one else 'were'} used."),
    )
    if not grade.first_elsewhere:
        return submit
    start, *rest = _next_step(grade)
    return *submit, Piece(f" As for what you submitted: {start.text[:1].lower()}{start.text[1:]}"), *rest


def _next_step(grade: Grade) -> tuple[Piece, ...]:
    first = grade.telling
    if grade.outcome == AGREES:
        unsure = [item.name for item in grade.items if item.needs_review and not item.earned]
        if unsure:
            return Piece("None: everything that ran is right. Staff will look at "), *_names(unsure), Piece(".")
        if grade.untried:
            before, after = "Everything that ran is right. Restore ", " as it was given to you: no case runs that."
            return Piece(before), Piece(", ".join(grade.untried), "quoted"), Piece(after)
        return (Piece("None: everything is right."),)
    if grade.outcome == PROVIDED_CHANGED:
        parts = Piece(", ".join(grade.provided) or "the provided code", "quoted")
        before, after = "What you wrote is right. Restore ", " as it was given to you, and everything is right."
        return Piece(before), parts, Piece(after)
    if grade.outcome == ERROR:
        return _withheld(grade)
    if grade.outcome == INCONCLUSIVE:
        names = [case.name for case in grade.cases if case.outcome == INCONCLUSIVE]
        before, after = "None: nothing is known to be wrong. In ", " rounding decides; staff will look at it."
        return Piece(before), *_names(names), Piece(after)
    if grade.not_started and grade.cause in ("", "stub"):
        return _start(grade, first.name if first else "")
    unused = grade.outcome == DIFFERS and not any(case.outcome == DIFFERS for case in grade.cases)
    if grade.outcome == COULD_NOT_RUN or (first is None and not unused):
        return _to_run(grade)
    if grade.first_divergence:
        if unused:
            return _look_at(grade, [Piece("your code gets along without it, and by itself it is wrong")])
        return _look_at(grade, list(_and_the_others(grade)))
    assert first is not None
    return Piece("Look at "), Piece(first.name, "name"), Piece(" first: "), Piece(first.why, "quoted"), Piece(".")


def _withheld(grade: Grade) -> tuple[Piece, ...]:
    """Say that points are withheld by no fault of the student, and what there is to do meanwhile."""
    if grade.cause not in (RECIPE, FORM):
        failed = "None: the grading program itself failed. Your points are withheld until staff have fixed that."
        return (Piece(failed),)
    names = [case.name for case in grade.cases if case.outcome == ERROR]
    told = (
        Piece("The course's own code failed here, not yours, in "),
        *_names(names),
        Piece(": staff have been told, and these points are withheld until they have fixed it."),
    )
    if grade.not_started:
        return *told, Piece(" "), *_start(grade, "")
    return (*told, Piece(" "), *_look_at(grade, [Piece(_FIRST)])) if grade.first_divergence else told


def _start(grade: Grade, otherwise: str) -> tuple[Piece, ...]:
    start = grade.first_part or otherwise
    return Piece("Not started yet: start with "), Piece(start, "name") if start else Piece("any part"), Piece(".")


def _look_at(grade: Grade, about: Sequence[Piece]) -> tuple[Piece, ...]:
    file, _, line = grade.first_place.rpartition(":")
    return (
        Piece("Look at "),
        *_where(grade),
        *(() if about == [Piece(_ONLY)] else (Piece(" first"),)),
        *((Piece(", in "), Piece(file, "name"), Piece(f", line {line}")) if file else ()),
        Piece(": "),
        *about,
        Piece("."),
    )


def _to_run(grade: Grade) -> tuple[Piece, ...]:
    """Say what keeps a submission from running, and what to do about it."""
    first = grade.telling
    why = Piece(first.why if first else "nothing was run", "quoted")
    where = (Piece(" (in "), Piece(first.name, "name"), Piece(")")) if first and first.cause != "unopened" else ()
    if grade.cause == "stub" and why.text.endswith(UNWRITTEN):
        part = Piece(why.text.removesuffix(UNWRITTEN), "name")
        return Piece("Continue with "), part, Piece(f", which{UNWRITTEN}"), *where, Piece(".")
    if grade.cause == "stub":
        return Piece("Continue with what is not written yet: "), why, *where, Piece(".")
    advice = _NEXT.get(grade.cause, "Run it on your own machine until this is gone.")
    failed, total = sum(case.outcome == COULD_NOT_RUN for case in grade.cases), len(grade.cases)
    some = f"{failed} of {count_of(total, 'case')} could not be run, so {'it was' if failed == 1 else 'they were'}"
    judged = (
        f"{some if 0 < failed < total else 'It could not be run, so it was'} not judged. That is not the same as wrong"
    )
    rest = " All other parts are right." if _is_alone(grade) else ""
    return Piece(f"{judged}: "), why, *(where if failed < total else ()), Piece(f". {advice}{rest}")


def _is_alone(grade: Grade) -> bool:
    """Return whether all parts but one are right, as far as there are any."""
    wrong = [part for part in grade.parts if part.outcome not in (AGREES, PROVIDED_CHANGED)]
    return len(wrong) == 1 and len(grade.parts) > 1


def _where(grade: Grade) -> Iterator[Piece]:
    """Name what goes wrong first, in the student's own names: the module and its method, or the function alone."""
    name, part = grade.first_name or grade.first_divergence, grade.first_part
    functions = grade.first_functions or (part,)
    if name in functions or part in (name, name.partition(".")[0]):
        yield from _names(grade.first_functions or (name,), "or")
        return
    yield Piece(name, "name")
    yield from (Piece(" ("), *_names(functions, "or"), Piece(")")) if part else ()


def _and_the_others(grade: Grade) -> Iterator[Piece]:
    """Say what is known about the other parts: that it is the only wrong one, or which others are not right."""
    by_outcome: dict[str, list[str]] = {}
    for part in grade.parts:
        by_outcome.setdefault(part.outcome, []).append(part.name)
    wrong = [name for name in by_outcome.get(DIFFERS, ()) if name != grade.first_part]
    failed = [name for name in by_outcome.get(COULD_NOT_RUN, ()) if name != grade.first_part]
    unknown = by_outcome.get(NOT_JUDGED, [])
    explained = all(case.first_divergence for case in grade.cases if case.outcome in (DIFFERS, COULD_NOT_RUN))
    if grade.first_part not in by_outcome.get(DIFFERS, ()) or not explained:
        yield Piece("it is the first to go wrong, and what comes after it may already be right")
        return
    first = "the first part that goes wrong" if wrong else "the only part that is known to be wrong"
    yield Piece(f"it is {first}" if wrong or failed or unknown else _ONLY)
    for names, said in (
        (wrong, "is wrong, too" if len(wrong) == 1 else "are wrong, too"),
        (failed, "could not be run"),
        (unknown, "could not be judged"),
    ):
        yield from (Piece("; "), *_names(names), Piece(f" {said}")) if names else ()


def _names(names: Sequence[str], last: str = "and") -> Iterator[Piece]:
    shown = names if len(names) <= _MOST_NAMES + 1 else names[:_MOST_NAMES]
    for number, name in enumerate(shown):
        yield from ((Piece(f" {last} " if number == len(names) - 1 else ", "),) if number else ())
        yield Piece(name, "name")
    if len(shown) < len(names):
        yield Piece(f" {last} {len(names) - len(shown)} more")

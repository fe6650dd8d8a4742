"""Hints: what is wrong with a submission and what is right, for a language model or a tutor to help its author by.

A hint is made of goldsmith's own words, the course's names and places in the submission's files, and of nothing else:
no text of the submission's, which could hold instructions, and no value, error or name that only gold or the solution
has. What is in none of the closed lists here is left out.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Iterator
from typing import Literal, get_args

import msgspec

from goldsmith.courses.grade.error_steps import in_steps
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.redaction import Redaction, redact
from goldsmith.courses.grade.scoring import NOT_JUDGED, RIGHT
from goldsmith.gold.manifest import Manifest
from goldsmith.judge.causes import Cause, by_cause, telling_case
from goldsmith.judge.leaf_words import STEP_WORDS, step_of
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    Outcome,
    PartVerdict,
    Verdict,
    sources,
)
from goldsmith.targets.target import Target

SCHEMA = 1
MistakeKind = Literal[
    "values",
    "gradients",
    "shape",
    "dtype",
    "type",
    "missing",
    "extra",
    "not-finite",
    "precision",
    "second-run",
    "uninitialised",
    "overwrites",
    "own-weights",
    "not-used",
    "not-written",
    "raised",
    "none",
    "import",
    "package",
    "device",
    "call",
    "weights",
    "exit",
    "timeout",
    "memory",
    "killed",
    "compiled",
    "unopened",
    "provided-changed",
    "other",
]
KIND_WORDS: dict[MistakeKind, str] = {
    "values": "it returns wrong values",
    "gradients": "gradients are wrong, or do not reach a weight",
    "shape": "it returns another shape",
    "dtype": "it returns another dtype",
    "type": "it returns another type",
    "missing": "it leaves out a result",
    "extra": "it returns more than it should",
    "not-finite": "it returns NaN or infinity where it should not, or the other way round",
    "precision": "it computes in a dtype that is too coarse",
    "second-run": "a second run gives something else",
    "uninitialised": "it returns memory that nothing was written to",
    "overwrites": "it changes what it is given",
    "own-weights": "each side ran with weights of its own, so nothing can be said of its values",
    "not-used": "it is wrong by itself, and nothing calls it",
    "not-written": "it is not written yet",
    "raised": "it raises an error",
    "none": "it returns nothing: a `return` is missing",
    "import": "a file cannot be imported",
    "package": "it imports a package that is missing where it was graded",
    "device": "it asks for a device that is missing where it was graded",
    "call": "it cannot be called as the assignment says",
    "weights": "its layers or shapes are not those that the assignment asks for",
    "exit": "it ends the interpreter",
    "timeout": "it takes too long",
    "memory": "it takes too much memory",
    "killed": "it was stopped from outside",
    "compiled": "it is wrong, or fails, once it is compiled",
    "unopened": "what was submitted cannot be opened",
    "provided-changed": "provided code was changed",
    "other": "it goes wrong in another way",
}
_BY_PROBLEM: dict[str, MistakeKind] = {
    "shape": "shape",
    "dtype": "dtype",
    "type": "type",
    "missing": "missing",
    "extra": "extra",
    "nan": "not-finite",
    "inf": "not-finite",
}
_BY_KIND: dict[str, MistakeKind] = {"stub": "not-written", "misuse": "call", "compiler": "compiled", "form": "other"}
_EXPLANATIONS = (
    (r"actual is \S+ everywhere", "it is the same number everywhere"),
    (r"actual is gold with its sign flipped", "it is the right result with its sign flipped"),
    (r"actual is gold times (-?2|(?:sqrt\(|-?1/)[^ ]+) ?(?:\(\S+\))?", r"it is the right result times \1"),
    (r"actual is gold times .*", "it is the right result times a constant"),
    (r"actual is gold plus .*", "it is the right result plus a constant"),
    (r"actual is gold reversed along axis (\d+)", r"it is the right result reversed along axis \1"),
    (
        r"actual is gold shifted by one along axis (\d+): each entry stands one place (later|earlier)",
        r"it is the right result shifted along axis \1: each entry stands one place \2",
    ),
    (
        r"actual is gold transposed: axes (\d+) and (\d+) are swapped",
        r"it is the right result with axes \1 and \2 swapped",
    ),
    (r"actual is gold with its axes in another order: .*", "it is the right result with its axes in another order"),
    (
        r"actual is gold (?:shifted round by \S+ along|with (?:the )?entries .*?of) axis (\d+)\b.*",
        r"it is the right result with the entries of axis \1 in another order",
    ),
    (r"the same numbers in another order", "it has the right numbers in another order"),
    (r"the same numbers in the same order, as .*", "it has the right numbers in the right order, in another shape"),
    (r"actual is gold rounded to (b?float16|float32)", r"it is the right result rounded to \1"),
)
"""What `comparison/explanations.py` may say, and what of it a hint says. A number that is measured is left out: with
the submission's own values, it would tell gold's."""
_CELL = re.compile(r"(?:.*, )?cell (\d+)")
_ERROR = re.compile(r"(\w+)(?::|$)")
_MISTAKES: tuple[Outcome, ...] = (DIFFERS, COULD_NOT_RUN, PROVIDED_CHANGED)


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. What is not known, or not one of the course's own names, is empty."""

    parts: tuple[str, ...]
    """The classes and functions of the assignment that are to blame, the first to go wrong first."""
    function: str = ""
    """The method or function in which the first of them goes wrong, where students write that."""
    file: str = ""
    """The starter's file in which the submission defines that part."""
    cell: int | None = None
    """In a notebook, the cell in which it does; null elsewhere."""
    line: int | None = None
    """The line of that file, or of that cell; null where it is not known."""
    kind: MistakeKind
    """The kind of mistake."""
    words: str
    """The same in words."""
    error: str = ""
    """Of what raises an error, the built-in exception, such as `ValueError`; its message is left out."""
    how_far: str
    """How far off its first wrong value is, in steps: `slightly off`, `clearly off`, `far off`; else empty."""
    by_itself: bool
    """Whether it was seen to be wrong when given the right inputs."""
    explanation: str
    """What turns its answer into the right one, where that was tried on all values and holds."""
    case: str
    """The case that shows it best."""
    title: str
    """What that case is about, as its recipe says."""
    cases: tuple[str, ...]
    """Every case that it makes wrong."""


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """What a language model or a tutor may know of a submission: nothing that its author's report does not say, no
    value of gold's, no code of the solution's, and no text of the submission's."""

    schema: int = SCHEMA
    """The version of this form; a field that is added does not change it."""
    assignment: str
    """The assignment."""
    outcome: Outcome
    """The verdict of `goldsmith check`."""
    not_started: bool
    """Whether what is left to students still is as it was given to them."""
    missing: tuple[str, ...]
    """Files that students write and that were not submitted."""
    mistakes: tuple[Mistake, ...]
    """What is wrong, the most telling first. What comes later may follow from what comes first."""
    right: tuple[str, ...]
    """Classes and functions that are right."""
    right_cases: tuple[str, ...]
    """Cases that agree."""
    not_judged: tuple[str, ...]
    """Classes and functions of which it is not known whether they are right."""


class StudentsNames(msgspec.Struct, frozen=True, kw_only=True):
    """What every student knows by name, besides cases and parts: the functions and methods that students write, and
    the starter's files."""

    functions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, target: Target, manifest: Manifest) -> StudentsNames:
        modules = target.starter.modules if target.starter is not None else ()
        files = {name for item in modules for name in (item.target.as_posix(), item.source.name)}
        functions = {name.partition(".")[2] for name in manifest.provenance.written}
        return cls(functions=tuple(sorted(functions)), files=tuple(sorted(files)))


def hint_json(hint: Hint) -> bytes:
    """Encode a hint as it is written."""
    return msgspec.json.format(msgspec.json.encode(hint), indent=2) + b"\n"


def hint_of(grade: Grade, verdict: Verdict, names: StudentsNames, veil: Redaction | None = None) -> Hint:
    """Return the hint on a verdict, from which the grade was made."""
    parts = {part.name for part in grade.parts}
    shown = redact(verdict, veil or Redaction())
    stepped = in_steps(shown)
    telling = telling_case(stepped)
    mistakes = [
        _mistake(cause, shown.case(cause.cases[0].name), stepped if telling in cause.cases else None, parts, names)
        for cause in by_cause(stepped)
        if cause.cases[0].outcome in _MISTAKES
    ]
    mistakes += [_unused(part) for part in stepped.parts if part.unused and part.name in parts]
    right = [part.name for part in grade.parts if part.outcome in RIGHT and part.name not in verdict.unwritten]
    unknown = [part.name for part in grade.parts if part.outcome == NOT_JUDGED]
    return Hint(
        assignment=grade.assignment,
        outcome=verdict.outcome,
        not_started=verdict.not_started,
        missing=tuple(name for name in verdict.missing if name in names.files),
        mistakes=tuple(mistakes),
        right=tuple(right),
        right_cases=tuple(case.name for case in stepped.cases if case.outcome == AGREES),
        not_judged=tuple(unknown),
    )


def _mistake(
    cause: Cause, before: CaseVerdict, first: Verdict | None, known: Collection[str], names: StudentsNames
) -> Mistake:
    """Describe one thing that is wrong. `before` is its case with explanations, which are not in steps; `first` is the
    verdict, if this is what goes wrong first, and its place is known."""
    case = cause.cases[0]
    blamed = [item for item in sources(case.modules) if item.kind in cause.parts]
    blamed.sort(key=lambda item: item.kind != case.first_part)
    parts = [name for name in dict.fromkeys([*(item.kind for item in blamed), case.first_part]) if name in known]
    function = next((name for item in blamed for name in _functions(item) if name in names.functions), "")
    place = first.first_place if first is not None and first.first_part in parts[:1] else ""
    file, cell, line = _place(place, names)
    kind, leaf = _kind(case), case.first_wrong
    is_value = kind in ("values", "gradients") and leaf is not None and leaf.problem == "values"
    explained = next((item.guess for item in before.leaves if leaf is not None and item.path == leaf.path), "")
    return Mistake(
        parts=tuple(parts),
        function=function,
        file=file,
        cell=cell,
        line=line,
        kind=kind,
        words=KIND_WORDS[kind],
        error=_built_in_error(case) if kind == "raised" else "",
        how_far=STEP_WORDS[step_of(leaf.excess)] if is_value and leaf is not None else "",
        by_itself=any(not item.inferred and not item.shared for item in blamed),
        explanation=_explanation(explained),
        case=case.name,
        title=case.title,
        cases=tuple(item.name for item in (*cause.cases, *cause.others)),
    )


def _unused(part: PartVerdict) -> Mistake:
    kind: MistakeKind = "not-used"
    return Mistake(
        parts=(part.name,),
        kind=kind,
        words=KIND_WORDS[kind],
        how_far="",
        by_itself=True,
        explanation="",
        case="",
        title="",
        cases=(),
    )


def _functions(module: ModuleVerdict) -> Iterator[str]:
    yield from (f"{module.kind}.{name}" for name in module.methods)
    yield module.callable


def _kind(case: CaseVerdict) -> MistakeKind:
    """Return the kind of a mistake, out of the closed list."""
    if case.outcome == PROVIDED_CHANGED:
        return "provided-changed"
    leaf = case.first_wrong
    if case.kind == "values" and leaf is not None:
        is_gradient = "gradients" in leaf.path.split(".")
        return "gradients" if is_gradient else _BY_PROBLEM.get(leaf.problem, "values")
    known: dict[str, MistakeKind] = {kind: kind for kind in get_args(MistakeKind)}
    return _BY_KIND.get(case.kind) or known.get(case.kind, "other")


def _place(place: str, names: StudentsNames) -> tuple[str, int | None, int | None]:
    """Return file, cell and line. The file is one of the starter's, or not told: a student chose its name."""
    where, _, line = place.rpartition(":")
    cell = _CELL.fullmatch(where)
    known = cell is not None or where in names.files
    number = int(line) if known and line.isascii() and line.isdecimal() else None
    return ("" if cell or not known else where), int(cell[1]) if cell and number else None, number


def _built_in_error(case: CaseVerdict) -> str:
    """Return the name of a built-in exception; any other name is the submission's own."""
    found = _ERROR.match(case.failure.message) if case.failure is not None else None
    kind = getattr(builtins, found[1], None) if found else None
    return found[1] if found and isinstance(kind, type) and issubclass(kind, Exception) else ""


def _explanation(guess: str) -> str:
    """Say what a checked explanation says, without the numbers that were measured for it."""
    found = ((re.fullmatch(pattern, guess), words) for pattern, words in _EXPLANATIONS)
    return next((match.expand(words) for match, words in found if match), "")

"""The words of a verdict, the same in every rendering. Gold's values appear only with `reveal`."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from goldsmith.check.case_verdict import shown_path
from goldsmith.check.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    ERROR,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    PartVerdict,
    Verdict,
)
from goldsmith.comparison.results import SKETCHED, TEXTS, LeafComparison
from goldsmith.foundation.wording import count_of

OUTCOMES = {
    AGREES: "agrees",
    DIFFERS: "differs",
    COULD_NOT_RUN: "could not run",
    PROVIDED_CHANGED: "provided changed",
    ERROR: "error",
}
_MORE_THAN_VALUES = ("precision", "second-run", "uninitialised")
"""Kinds of difference that no value shows: the reason has to be given as well."""
_PREFIX = {
    "import": "could not be imported: ",
    "package": "it imports what is not installed here: ",
    "device": "it asks for a device that is not here: ",
    "call": "it is called differently: ",
    "exit": "it left early: ",
}


def headline(verdict: Verdict) -> str:
    """Return the verdict in one sentence, after one about files that are missing."""
    said = _judgement(verdict)
    return f"{missing_files(verdict.missing)}. {said[:1].upper()}{said[1:]}" if verdict.missing else said


def missing_files(names: Sequence[str]) -> str:
    """Say which files were not submitted: `layers.py is missing; the starter's was used`."""
    one = len(names) == 1
    return f"{joined(names)} {'is' if one else 'are'} missing; the starter's {'was' if one else 'were'} used"


def joined(names: Sequence[str]) -> str:
    """List names as in a sentence: `a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _judgement(verdict: Verdict) -> str:
    count = Counter(case.outcome for case in verdict.cases)
    total = len(verdict.cases)
    cases = count_of(total, "case")
    if verdict.outcome == AGREES:
        where = f"the {cases} that ran, {verdict.not_run} did not" if verdict.not_run else _every(total)
        return f"agrees with the gold of {verdict.assignment} in {where}"
    if verdict.outcome == PROVIDED_CHANGED:
        parts = ", ".join(verdict.provided)
        return f"everything written is right, but provided code was changed: {parts}"
    if verdict.not_started:
        return "not started: what is left to write is as it was given"
    if verdict.outcome == COULD_NOT_RUN:
        first = next(case for case in verdict.cases if case.outcome == COULD_NOT_RUN)
        some = f"{count[COULD_NOT_RUN]} of {cases} could not run"
        return f"{'no case could run' if count[COULD_NOT_RUN] == total else some}: {_why(first)}"
    if verdict.outcome == ERROR:
        first = next(case for case in verdict.cases if case.outcome == ERROR)
        return f"not judged in {count[ERROR]} of {cases}, by no fault of its author: {one_line(first.reason)}"
    if not count[DIFFERS]:
        wrong = [f"{part.name} is {part_sentence(part)}" for part in verdict.parts if part.unused]
        return f"{_every(total)} agree{'s' if total == 1 else ''}, but {'; '.join(wrong)}"
    where = f"{count[DIFFERS]} of {cases}"
    if not verdict.first_divergence:
        return f"differs in {where}"
    return f"differs in {where}; {first_wrong(verdict)} is the first to go wrong"


def _every(total: int) -> str:
    return {1: "its only case", 2: "both cases"}.get(total, f"all {count_of(total, 'case')}")


def alike(cases: Iterable[CaseVerdict]) -> list[list[CaseVerdict]]:
    """Group cases, in their order, that could not run for the same reason, so that it is given once."""
    groups: dict[tuple[str, ...], list[CaseVerdict]] = {}
    for case in cases:
        same = case.outcome == COULD_NOT_RUN and not case.modules
        frames = [f"{item.file}:{item.line}" for item in case.failure.frames] if case.failure else []
        groups.setdefault((case.reason, *frames) if same else (case.name, ""), []).append(case)
    return list(groups.values())


def rows(cases: Sequence[CaseVerdict]) -> list[tuple[CaseVerdict, str]]:
    """Return every case with its sentence; a case that could not run for the same reason as the one before says "the
    same"."""
    found: list[tuple[CaseVerdict, str]] = []
    before = ""
    for case in cases:
        sentence = case_sentence(case)
        found.append((case, "the same" if case.outcome == COULD_NOT_RUN and sentence == before else sentence))
        before = sentence
    return found


def _why(case: CaseVerdict) -> str:
    return _PREFIX.get(case.kind, "") + one_line(case.reason).rstrip(".")


def first_wrong(verdict: Verdict) -> str:
    """Return what goes wrong first, in the submission's own names: `blocks.0.attention_norm (RMSNorm)`, or a function's
    name."""
    name, part = verdict.first_name or verdict.first_divergence, verdict.first_part
    return name if part in ("", name, name.partition(".")[0]) else f"{name} ({part})"


def case_sentence(case: CaseVerdict) -> str:
    """Say what is wrong with a case; empty if nothing is."""
    if case.outcome == AGREES:
        return f"met {case.met}" if case.met else ""
    if case.outcome == COULD_NOT_RUN:
        return _why(case)
    first = case.first_wrong
    if case.kind != "values" or first is None:
        return one_line(case.reason)
    more = sum(not leaf.agrees for leaf in case.leaves) - 1
    others = f", and {more} more" if more > 0 else ""
    return f"{leaf_name(case, first)} {how_far(first)}{others}"


def leaf_name(case: CaseVerdict, leaf: LeafComparison) -> str:
    """Return a recorded value's name as the submission's author knows it: a weight by its name there."""
    path = shown_path(leaf.path)
    for gold, theirs in case.their_names.items():
        if path.endswith(f".{gold}"):
            return f"{path.removesuffix(gold)}{theirs}"
    return path


def how_far(leaf: LeafComparison) -> str:
    match leaf.problem:
        case "shape":
            return f"has shape {list(leaf.actual_shape)}, not {list(leaf.gold_shape)}"
        case "dtype":
            return f"is {leaf.actual_dtype}, not {leaf.gold_dtype}"
        case "missing":
            return "is missing"
        case "extra":
            return "is not in the gold"
        case "type" if leaf.actual_dtype == "None" and ".gradients." in f".{leaf.path}":
            return "is None: no gradient reaches it"
        case "type":
            return f"is {leaf.actual_dtype}, not {leaf.gold_dtype}"
        case "nan" | "inf" if not (leaf.nan_actual or leaf.inf_actual):
            return "holds no NaN or infinite value where it should"
        case "nan" | "inf":
            return f"holds {leaf.nan_actual} NaN and {leaf.inf_actual} infinite values"
    if leaf.gold_dtype in TEXTS and leaf.where:
        return f"first differs at {leaf.where}, where it has {leaf.actual}"
    if leaf.elements <= 1 or not math.isfinite(leaf.relative):
        return "has a different value"
    if leaf.gold_dtype.startswith(("int", "uint", "bool")):
        return f"differs in {leaf.mismatched} of {leaf.elements} elements"
    return f"is off by {size_words(leaf.relative)}"


def size_words(relative: float) -> str:
    """Say how far off, with few digits: more of them would reveal the size of gold where the error is very large."""
    if relative > 10:
        return "more than 10 times its size"
    return f"{relative:.0%} of its size" if relative >= 0.01 else f"{relative:.1e} of its size"


def leaf_lines(leaf: LeafComparison, *, reveal: bool, gold: str = "gold") -> list[str]:
    """Describe a leaf that differs, in several lines. `gold` is what to call the side that is right."""
    if leaf.gold_dtype in TEXTS and leaf.problem == "values" and leaf.where:
        return [f"{gold} has {leaf.gold} there"] if reveal else []
    lines = []
    if leaf.problem == "values" and leaf.elements > 1:
        if leaf.tolerance == SKETCHED:
            lines.append(f"about {leaf.excess:.2g} times as far off as allowed, by a sketch of what it should be")
        elif leaf.mismatched:
            over = f", the farthest {leaf.excess:.3g} times as far as allowed" if math.isfinite(leaf.excess) else ""
            verb = "is" if leaf.mismatched == 1 else "are"
            lines.append(f"{leaf.mismatched} of {leaf.elements} elements {verb} out of tolerance{over}")
        else:
            lines.append(f"no element alone, but the whole is {leaf.excess:.3g} times as far off as allowed")
    if leaf.where:
        lines.append(f"where: {leaf.where}")
    if leaf.guess:
        found = leaf.guess if reveal else leaf.guess.replace("actual is gold", "yours is the right result", 1)
        found = found.replace("actual is gold", f"it is {gold}", 1) if gold != "gold" else found
        lines.append(f"it looks like this: {found} (checked)")
    if leaf.index and leaf.actual is not None:
        right = f", {gold} {_number(leaf.gold)}" if reveal else ""
        lines.append(f"worst at {list(leaf.index)}: {_number(leaf.actual)}{right}")
    elif leaf.actual is not None and leaf.problem == "values":
        alike = reveal and leaf.gold is not None and _number(leaf.actual) == _number(leaf.gold)
        shown = repr if alike else _number
        lines.append(f"it is {shown(leaf.actual)}" + (f", {gold} is {shown(leaf.gold)}" if reveal else ""))
    if leaf.gold_dtype.startswith(("int", "uint", "bool")):
        return lines
    said = [f"cosine {leaf.cosine:.4f}"] if leaf.cosine is not None and leaf.elements > 1 else []
    alone = (("atol", leaf.atol_alone), ("rtol", leaf.rtol_alone))
    enough = [f"{name} {value:.3g}" for name, value in alone if value and math.isfinite(value)]
    said += [f"would pass with {' or '.join(enough)} alone"] if enough else []
    if said and reveal:
        lines.append("; ".join(said))
    return lines


def part_sentence(part: PartVerdict) -> str:
    """Say where a part is right or wrong."""
    if part.unused:
        how = "gives something else" if part.outcome == DIFFERS else "cannot be run"
        return f"not used by the code, and {how} on gold's inputs"
    if part.outcome == AGREES:
        return "when given the right inputs" if part.alone else f"in {part.case}" if part.case else ""
    return f"at {part.where}" if part.where else f"in {part.case}" if part.case else ""


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


def one_line(text: str) -> str:
    return " ".join(text.split())


def telling_case(verdict: Verdict) -> CaseVerdict | None:
    """Return the case that shows best what is wrong; None if nothing is."""
    if verdict.outcome == AGREES:
        return None
    found = [case for case in verdict.cases if case.outcome == verdict.outcome]
    return next((case for case in found if case.name == verdict.first_case), found[0] if found else None)


def module_lines(case: CaseVerdict, place: str = "", gold: str = "gold") -> list[str]:
    """Describe the calls that go wrong in one case and those that are right alone, in the order in which they ran.
    `place` is where the first of them is defined, `gold` what to call the side that is right."""
    if case.kind == "stub":
        return []  # its reason says it all
    lines = source_lines(case, place, gold)
    sources = {item.callable for item in case.modules if _is_source(item)}
    right = dict.fromkeys(item.callable for item in case.modules if item.alone and item.outcome == AGREES)
    fine = [name.removesuffix(".forward") for name in right if name not in sources]
    if fine:
        lines.append(f"right when given the right inputs: {', '.join(fine)}")
    return lines


def source_lines(case: CaseVerdict, place: str = "", gold: str = "gold") -> list[str]:
    """Describe the calls that go wrong in one case, as `module_lines` does."""
    lines = [one_line(case.reason)] if case.kind in _MORE_THAN_VALUES else []
    sources: dict[str, list[ModuleVerdict]] = {}
    for module in filter(_is_source, case.modules):
        sources.setdefault(module.callable, []).append(module)
    for found in sources.values():
        more = f", in {len(found)} of its calls" if len(found) > 1 else ""
        lines.append(_source_line(found[0], more, place, _told_of(case), gold))
        place = ""
    return lines


def _is_source(module: ModuleVerdict) -> bool:
    return module.source or (module.outcome == COULD_NOT_RUN and module.alone)


def _told_of(case: CaseVerdict) -> str:
    """Say how far off the first wrong record is, which is said of every case."""
    return how_far(case.first_wrong) if case.first_wrong else ""


def _source_line(source: ModuleVerdict, more: str, place: str, told: str, gold: str) -> str:
    """Describe one call that goes wrong. `told` is what is said below about the whole case, and is not repeated."""
    whole = gold != "gold" and not source.name  # a whole model, which each side calls by its own class
    label = source.their_label if source.theirs or whole else source.label
    kind = source.their_kind if gold != "gold" and source.their_kind else source.kind
    details = [kind] if source.name else []
    details += [f"{place.rpartition(':')[0]}, line {place.rpartition(':')[2]}"] if place else []
    name = f"{label} ({'; '.join(details)})" if details else label
    why = f": {one_line(source.why)}" if source.why else ""
    if source.outcome == COULD_NOT_RUN:
        how = "could not run alone" if source.alone else "raises an error" if not source.why else "could not run"
        return f"{name} {how}{more}{why}"
    if source.relative is None and why:
        return f"{name}{why}"
    if source.alone:  # it has seen gold's inputs by now, and could encode them in how far off it is
        return f"{name} is wrong by itself, given {gold}'s own inputs{more}{why}"
    if source.inferred or source.relative is None:
        return f"{name} is wrong; nothing that it calls was seen to be{why}"
    off = f"off by {size_words(source.relative)}"
    if not math.isfinite(source.relative) or (told.endswith(off) and not more):
        return f"{name} is wrong by itself, given the right inputs{more}{why}"
    return f"{name} is wrong by itself: given the right inputs, its output is {off}{more}{why}"


def notes_of(verdict: Verdict) -> list[str]:
    """List everything worth noting, with the cases that it applies to unless it applies to all."""
    found: dict[str, list[str]] = {}
    for case in verdict.cases:
        for note in case.notes:
            found.setdefault(note, []).append(case.name)
    notes = [*verdict.choices, *verdict.notes]
    for note, names in found.items():
        some = f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" if len(names) < len(verdict.cases) else ""
        notes.append(note + some)
    if verdict.provided and verdict.outcome != PROVIDED_CHANGED:
        notes.append(f"provided code is not as it was given: {', '.join(verdict.provided)}")
    return notes


def next_step(verdict: Verdict) -> str:
    """Say what to do now, as a command where there is one."""
    bad = next((case for case in verdict.cases if case.outcome == verdict.outcome), None)
    if verdict.outcome == AGREES or bad is None:
        return ""
    if verdict.outcome == ERROR:
        return "run it again, and report what goldsmith says, which is its own fault"
    if bad.kind == "own-weights":
        return "say how its weights are kept, with case.weights(get, set) in the recipe"
    if bad.kind == "weights":
        return "declare where gold's weights go in an adapter (`goldsmith help adapters`), or pass one with --adapter"
    if len(alike(verdict.cases)) == 1:
        return ""  # it has just been run, or the others would say the same
    case = verdict.first_case or bad.name
    of = "--with " if verdict.assignment.endswith(".py") else ""
    tail = "" if verdict.name == "the tree as it stands" else f" {of}{shlex.quote(verdict.name)}"
    return f"goldsmith check {shlex.quote(verdict.assignment)}{tail} --case {case}"

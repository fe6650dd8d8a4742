"""The words of a verdict, the same in every rendering. Gold's values appear only with `reveal`."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence

import msgspec

from goldsmith.check.case_verdict import shown_path
from goldsmith.check.causes import Cause, alike, telling_case
from goldsmith.check.shown_parts import part_of
from goldsmith.check.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    ERROR,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    Outcome,
    PartVerdict,
    Verdict,
)
from goldsmith.comparison.results import SKETCHED, TEXTS, LeafComparison, shown_numbers
from goldsmith.foundation.wording import count_of

OUTCOMES = {
    AGREES: "agrees",
    DIFFERS: "differs",
    COULD_NOT_RUN: "could not run",
    PROVIDED_CHANGED: "provided changed",
    ERROR: "error",
}
NOT_STARTED = "not started: what is left to write is as it was given"
_MORE_THAN_VALUES = ("precision", "second-run", "uninitialised")
"""Kinds of difference that no value shows: the reason has to be given as well."""
_DIGITS = 6
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
    others = _others(count, verdict.outcome)
    rest = f"; {others}" if others else ""
    if verdict.outcome == PROVIDED_CHANGED:
        parts = ", ".join(verdict.provided)
        differ = f"{count[PROVIDED_CHANGED]} of {cases} differ{'s' if count[PROVIDED_CHANGED] == 1 else ''}"
        return f"everything written is right, but provided code was changed: {parts}; {differ} because of it"
    if verdict.not_started:
        rest = headline(msgspec.structs.replace(verdict, not_started=False))
        is_all = all(case.kind == "stub" or case.outcome == AGREES for case in verdict.cases)
        return NOT_STARTED if is_all else f"{NOT_STARTED}; {rest}"
    if verdict.outcome == COULD_NOT_RUN:
        some = f"{count[COULD_NOT_RUN]} of {cases} could not run"
        return f"{'no case could run' if count[COULD_NOT_RUN] == total else some}: {_why_not_run(verdict)}{rest}"
    if verdict.outcome == ERROR:
        first = next(case for case in verdict.cases if case.outcome == ERROR)
        return f"not judged in {count[ERROR]} of {cases}, by no fault of its author: {one_line(first.reason)}{rest}"
    if not count[DIFFERS]:
        wrong = [f"{part.name} is {part_sentence(part)}" for part in verdict.parts if part.unused]
        return f"{_every(total)} agree{'s' if total == 1 else ''}, but {'; '.join(wrong)}"
    where = f"{count[DIFFERS]} of {cases}{f', {others}' if others else ''}"
    if all(case.close for case in verdict.cases if case.outcome == DIFFERS):
        return f"differs in {where}, and is so close to what is allowed that it needs review"
    if not verdict.first_divergence:
        return f"differs in {where}"
    return f"differs in {where}; {first_wrong(verdict)} is the first to go wrong"


def _others(count: Counter[Outcome], but: Outcome) -> str:
    """Count the cases with other outcomes than the gravest that are not right, either."""
    found = {
        DIFFERS: f"{count[DIFFERS]} differ{'s' if count[DIFFERS] == 1 else ''}",
        COULD_NOT_RUN: f"{count[COULD_NOT_RUN]} could not run",
        PROVIDED_CHANGED: f"{count[PROVIDED_CHANGED]} would agree with provided code as it was given",
    }
    return ", ".join(words for outcome, words in found.items() if count[outcome] and outcome != but)


def _why_not_run(verdict: Verdict) -> str:
    """Say why cases could not run: the reason of the most telling one, and how many others there are."""
    groups = alike(case for case in verdict.cases if case.outcome == COULD_NOT_RUN)
    first = telling_case(verdict) or groups[0][0]
    more = len(groups) - 1
    return f"{_why(first)} (and {count_of(more, 'other reason')})" if more else _why(first)


def _every(total: int) -> str:
    return {1: "its only case", 2: "both cases"}.get(total, f"all {count_of(total, 'case')}")


def rows(cases: Sequence[CaseVerdict]) -> list[tuple[CaseVerdict, str]]:
    """Return every case with its sentence; a case that could not run for the same reason as one before says so."""
    found: list[tuple[CaseVerdict, str]] = []
    said: dict[str, str] = {}
    before = ""
    for case in cases:
        sentence = case_sentence(case)
        if case.outcome == COULD_NOT_RUN and sentence in said:
            found.append((case, "the same" if sentence == before else f"the same as {said[sentence]}"))
        else:
            found.append((case, sentence))
        if case.outcome == COULD_NOT_RUN:
            said.setdefault(sentence, case.name)
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
    doubt = "; close to what is allowed: needs review" if case.close else ""
    return f"{leaf_name(case, first)} {how_far(first)}{others}{doubt}"


def cause_sentence(cause: Cause) -> str:
    """Say in a few words what is wrong: which functions, or else what is said of the case."""
    case = cause.cases[0]
    blamed = dict.fromkeys(
        item.callable for item in case.modules if item.source and part_of(item.callable) in cause.parts
    )
    if case.outcome != DIFFERS or not blamed:
        return case_sentence(case)
    return f"{joined([name.removesuffix('.forward') for name in blamed])} go{'es' if len(blamed) == 1 else ''} wrong"


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
    if _is_exact(leaf):
        return f"differs in {leaf.mismatched} of {leaf.elements} elements"
    return f"is off by {size_words(leaf.relative)}"


def _is_exact(leaf: LeafComparison) -> bool:
    """Return whether a value has whole numbers, of which `how_far` says all that there is to say."""
    return leaf.gold_dtype.startswith(("int", "uint", "bool"))


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
    if leaf.problem == "values" and leaf.elements > 1 and not _is_exact(leaf):
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
        actual, right = shown_numbers(leaf.actual, leaf.gold if reveal else None, _DIGITS)
        lines.append(f"worst at {list(leaf.index)}: {actual}{f', {gold} {right}' if reveal else ''}")
    elif leaf.actual is not None and leaf.problem == "values":
        actual, right = shown_numbers(leaf.actual, leaf.gold if reveal else None, _DIGITS)
        lines.append(f"it is {actual}" + (f", {gold} is {right}" if reveal else ""))
    if _is_exact(leaf):
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


def ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


def one_line(text: str) -> str:
    return " ".join(text.split())


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


def corrected_sentence(case: CaseVerdict) -> str:
    """Say with which parts a case agrees once they are the solution's."""
    return f"with {joined(case.corrected)} as in the solution this case agrees"


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


def is_said(case: CaseVerdict) -> bool:
    """Return whether the lines about the calls that go wrong already say why a case failed."""
    return case.kind == "none" and any(item.why for item in case.modules if _is_source(item))


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
        is_wrong = "is wrong" if gold == "gold" else "is inferred to be wrong"
        return f"{name} {is_wrong}; nothing that it calls was seen to be{why}"
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

"""The words of a verdict, the same in every rendering. Gold's values appear only with `reveal`."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence

import msgspec

from goldsmith.foundation.wording import count_of
from goldsmith.judge.causes import Cause, alike, telling_case
from goldsmith.judge.coverage import part_of
from goldsmith.judge.leaf_words import how_far, leaf_name, size_words
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    ERROR,
    INCONCLUSIVE,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    Outcome,
    PartVerdict,
    Verdict,
)

OUTCOMES = {
    AGREES: "agrees",
    DIFFERS: "differs",
    COULD_NOT_RUN: "could not run",
    INCONCLUSIVE: "inconclusive",
    PROVIDED_CHANGED: "provided changed",
    ERROR: "error",
}
NOT_STARTED = "not started: what is left to write is as it was given"
_MORE_THAN_VALUES = ("precision", "second-run", "uninitialised")
"""Kinds of difference that no value shows: the reason has to be given as well."""
_CUT_OFF = {"timeout": "takes too long", "memory": "takes too much memory"}
_PREFIX = {
    "import": "could not be imported: ",
    "package": "it imports what is not installed here: ",
    "device": "it needs a device that this machine lacks: ",
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
        return f"agrees with the gold of {verdict.assignment} in {where}{_but_untried(verdict)}"
    others = _others(count, verdict.outcome)
    rest = f"; {others}" if others else ""
    if verdict.outcome == PROVIDED_CHANGED:
        parts = ", ".join(verdict.provided)
        differ = f"{count[PROVIDED_CHANGED]} of {cases} differ{'s' if count[PROVIDED_CHANGED] == 1 else ''}"
        rest = _but_untried(verdict)
        return f"everything written is right, but provided code was changed: {parts}; {differ} because of it{rest}"
    if verdict.not_started:
        rest = headline(msgspec.structs.replace(verdict, not_started=False))
        is_all = all(case.kind == "stub" or case.outcome == AGREES for case in verdict.cases)
        return NOT_STARTED if is_all else f"{NOT_STARTED}; {rest}"
    if verdict.outcome == COULD_NOT_RUN:
        some = f"{count[COULD_NOT_RUN]} of {cases} could not run"
        return f"{'no case could run' if count[COULD_NOT_RUN] == total else some}: {_why_not_run(verdict)}{rest}"
    if verdict.outcome == INCONCLUSIVE:
        first = next(case for case in verdict.cases if case.outcome == INCONCLUSIVE)
        return f"inconclusive in {count[INCONCLUSIVE]} of {cases}: {one_line(first.reason)}{rest}"
    if verdict.outcome == ERROR:
        first = next(case for case in verdict.cases if case.outcome == ERROR)
        return f"not judged in {count[ERROR]} of {cases}, by no fault of its author: {one_line(first.reason)}{rest}"
    if not count[DIFFERS]:
        wrong = [f"{part.name} is {part_sentence(part, verdict)}" for part in verdict.parts if part.unused]
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
        INCONCLUSIVE: f"{count[INCONCLUSIVE]} inconclusive",
        PROVIDED_CHANGED: f"{count[PROVIDED_CHANGED]} would agree with provided code as it was given",
    }
    return ", ".join(words for outcome, words in found.items() if count[outcome] and outcome != but)


def _why_not_run(verdict: Verdict) -> str:
    """Say why cases could not run: the reason of the most telling one, and how many others there are."""
    groups = alike(case for case in verdict.cases if case.outcome == COULD_NOT_RUN)
    first = telling_case(verdict) or groups[0][0]
    more = len(groups) - 1
    return f"{_why(first)} (and {count_of(more, 'other reason')})" if more else _why(first)


def _but_untried(verdict: Verdict) -> str:
    names = ", ".join(verdict.untried)
    return f"; provided code that no case runs was changed, too: {names}" if names else ""


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


def part_sentence(part: PartVerdict, verdict: Verdict) -> str:
    """Say where a part is right or wrong; of one that is right in a case that is not, how that is known."""
    if part.unused:
        how = "gives something else" if part.outcome == DIFFERS else "cannot be run"
        return f"not used by the code, and {how} on gold's inputs"
    if part.outcome == AGREES and part.alone:
        return "when given the right inputs"
    if part.outcome == AGREES and part.case:
        wrong = next((case for case in verdict.cases if case.name == part.case and case.outcome != AGREES), None)
        if wrong is None:
            return f"in {part.case}"
        if wrong.corrected:
            return f"in {part.case}, with {joined(wrong.corrected)} as in the solution"
        return f"by what it returns in {part.case}"
    return f"at {part.where}" if part.where else f"in {part.case}" if part.case else ""


def ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


def one_line(text: str) -> str:
    return " ".join(text.split())


def module_lines(case: CaseVerdict, place: str = "") -> list[str]:
    """Describe the calls that go wrong in one case and those that are right alone, in the order in which they ran.
    `place` is where the first of them is defined."""
    if case.kind == "stub":
        return []  # its reason says it all
    lines = source_lines(case, place)
    corrected = corrected_line(case)
    if corrected:
        return [*lines, corrected]
    sources = {item.callable for item in case.modules if _is_source(item)}
    right = dict.fromkeys(item.callable for item in case.modules if item.alone and item.outcome == AGREES)
    fine = [name.removesuffix(".forward") for name in right if name not in sources]
    if fine:
        lines.append(f"right when given the right inputs: {', '.join(fine)}")
    return lines


def corrected_sentence(case: CaseVerdict) -> str:
    """Say with which parts a case agrees once they are the solution's."""
    return f"with {joined(case.corrected)} as in the solution this case agrees"


def corrected_line(case: CaseVerdict) -> str:
    """Say what follows from that: the rest is right. Empty where there is no rest and the part was seen to be wrong."""
    others = {part_of(item.callable) for item in case.modules if item.own}.difference(case.corrected)
    found_by_trying = all(item.inferred for item in case.modules if item.source)
    if not case.corrected or not (others or found_by_trying):
        return ""
    return corrected_sentence(case) + (", so the rest of it is right" if others else "")


def source_lines(case: CaseVerdict, place: str = "", gold: str = "gold") -> list[str]:
    """Describe the calls that go wrong in one case, as `module_lines` does."""
    lines = [one_line(case.reason)] if case.kind in _MORE_THAN_VALUES else []
    sources: dict[str, list[ModuleVerdict]] = {}
    for module in filter(_is_source, case.modules):
        sources.setdefault(module.callable, []).append(module)
    for found in sources.values():
        more = f", in {len(found)} of its calls" if len(found) > 1 else ""
        lines.append(_source_line(case, found[0], more, place, gold))
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


def _source_line(case: CaseVerdict, source: ModuleVerdict, more: str, place: str, gold: str) -> str:
    """Describe one call that goes wrong. What is said below about the whole case is not repeated."""
    whole = gold != "gold" and not source.name  # a whole model, which each side calls by its own class
    label = source.their_label if source.theirs or whole else source.label
    label = source.name or source.kind if source.methods else label
    kind = source.their_kind if gold != "gold" and source.their_kind else source.kind
    details = [kind] if source.name else []
    details += [f"{place.rpartition(':')[0]}, line {place.rpartition(':')[2]}"] if place else []
    name = f"{label} ({'; '.join(details)})" if details else label
    why = f": {one_line(source.why)}" if source.why else ""
    if source.outcome == COULD_NOT_RUN:
        return f"{name} {_how_it_failed(case, source)}{more}{why}"
    if source.relative is None and why:
        return f"{name}{why}"
    if source.alone:  # it has seen gold's inputs by now, and could encode them in how far off it is
        return f"{name} is wrong by itself, given {gold}'s own inputs{more}{why}"
    if source.methods:
        return f"{name} is wrong, in {' or '.join(source.methods)}{why}"
    if source.inferred or source.relative is None:
        is_wrong = "is wrong" if gold == "gold" else "is inferred to be wrong"
        return f"{name} {is_wrong}{'' if case.corrected else '; no error was found in what it calls'}{why}"
    off = f"off by {size_words(source.relative)}"
    if not math.isfinite(source.relative) or (_told_of(case).endswith(off) and not more):
        return f"{name} is wrong by itself, given the right inputs{more}{why}"
    return f"{name} is wrong by itself: given the right inputs, its output is {off}{more}{why}"


def _how_it_failed(case: CaseVerdict, source: ModuleVerdict) -> str:
    """Say what a call did that kept its case from running. Where it was found by trying, others may have raised."""
    if source.alone:
        return "could not run alone"
    if case.kind in CUT_OFF:
        return _CUT_OFF.get(case.kind, "ends the process")
    if source.why:
        return "could not run"
    frames = case.failure.frames if case.failure else ()
    names = (source.callable, f"{source.their_kind or source.kind}.{source.function or 'forward'}")
    if any(frame.function.startswith(names) for frame in frames):
        return "raises an error"
    return "is wrong" if case.corrected else "could not run" if frames else "raises an error"


def notes_of(verdict: Verdict) -> list[str]:
    """List everything worth noting, with the cases that it applies to unless it applies to all."""
    found: dict[str, list[str]] = {}
    for case in verdict.cases:
        for note in case.notes:
            found.setdefault(note, []).append(case.name)
    notes = [*verdict.choices, *verdict.unfinished, *verdict.notes]
    for note, names in found.items():
        some = f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" if len(names) < len(verdict.cases) else ""
        notes.append(note + some)
    changed = [part for part in verdict.provided if part not in verdict.untried]
    if changed and verdict.outcome != PROVIDED_CHANGED:
        notes.append(f"provided code is not as it was given: {', '.join(changed)}")
    return notes


def next_step(verdict: Verdict, options: str = "") -> str:
    """Say what to do now, as a command where there is one: with the `options` of the one that found this."""
    bad = next((case for case in verdict.cases if case.outcome == verdict.outcome), None)
    if verdict.outcome == AGREES or bad is None:
        return ""
    if verdict.outcome == ERROR:
        return "run it again, and report what goldsmith says, which is its own fault"
    if bad.cancels is not None:
        return bad.cancels.remedy
    if bad.kind == "own-weights":
        return "say how its weights are kept, with case.weights(get, set) in the recipe"
    if bad.kind == "form":
        return "write the case such that it serves both libraries (`goldsmith help recipes`)"
    if bad.kind == "weights":
        return "declare where gold's weights go in an adapter (`goldsmith help adapters`), or pass one with --adapter"
    if len(alike(verdict.cases)) == 1:
        return ""  # it has just been run, or the others would say the same
    case = verdict.first_case or bad.name
    of = "--with " if verdict.assignment.endswith(".py") else ""
    tail = "" if verdict.name == "the tree as it stands" else f" {of}{shlex.quote(verdict.name)}"
    return f"goldsmith check {shlex.quote(verdict.assignment)}{tail} --case {case}{options}"

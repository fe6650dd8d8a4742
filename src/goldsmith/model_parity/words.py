"""The words of a parity, the same on a terminal and in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from goldsmith.foundation.wording import some_of
from goldsmith.judge.references import REFERENCES_DIFFER
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, INCONCLUSIVE
from goldsmith.model_parity.reference_words import agreed_words, moved_words, singled_out_words
from goldsmith.model_parity.result import (
    INFERRED,
    INSIDE,
    MERGED,
    PROVEN,
    SOURCE,
    UNKNOWN,
    UNPAIRED,
    VICTIM,
    ModuleParity,
    ParityReport,
)
from goldsmith.runs.implementation import Described, Loaded
from goldsmith.weights.rules import ALTERNATING, BY_PIXEL

REFERENCE = "the reference"
_SHOWN = 6
_NAMED = 3


def headline(report: ParityReport) -> str:
    """Return the result in one sentence."""
    return "; ".join(filter(None, (_judgement(report), moved_words(report), singled_out_words(report))))


def _judgement(report: ParityReport) -> str:
    if report.outcome == REFERENCES_DIFFER:
        return agreed_words(report) or f"cannot be judged by {report.reference}: {report.reason}"
    if report.outcome == COULD_NOT_RUN and not report.cases:
        return f"could not be compared with {report.reference}: {report.reason}"
    names = _cases(report)
    if report.outcome == AGREES:
        condition = f", if {report.condition}" if report.condition else ""
        return f"agrees with {report.reference} in {names}{condition}"
    if report.outcome == DIFFERS:
        wrong = [case.name for case in report.cases if case.outcome == DIFFERS]
        where = some_of(wrong, 3)
        guess = ", with weights placed by a guess" if is_guessed(report) else ""
        return f"differs from {report.reference} in {where}{_where_it_begins(report)}{guess}"
    if report.outcome == INCONCLUSIVE:
        return f"neither agrees with {report.reference} nor differs from it: inconclusive, for {report.reason}"
    return f"could not be compared with {report.reference} in all: {report.reason}"


def arrangement(loaded: Loaded) -> str:
    """Say how weights must be stored for the two to agree; empty if they are stored as usual."""
    if not loaded.arranged:
        return ""
    names = list(dict.fromkeys(map(_in_all_layers, loaded.arranged)))
    verb = "is stored" if len(loaded.arranged) == 1 else "are stored"
    how = {"": "the other way round", ALTERNATING: "head by head", BY_PIXEL: "pixel by pixel"}
    return f"{some_of(names, _SHOWN)} {verb} {how.get(loaded.layout, f'as the layout {loaded.layout!r} says')}"


def unseen_words(described: Described, called: Collection[str], side: str) -> str:
    """Say which modules with weights were not seen to be called, where a library may hide that; empty if none."""
    owners = {name.rpartition(".")[0] for name in described.weights}
    missing = [name for name in described.modules if name and name in owners and name not in called]
    if not described.unseen or not missing:
        return ""
    return f"calls of {some_of(missing, _SHOWN)} of the {side} were not seen; {described.unseen}, none can be"


def _in_all_layers(name: str) -> str:
    """Return a pattern that fits the same name in all layers."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def _where_it_begins(report: ParityReport) -> str:
    if not report.first_name:
        return ""
    if report.first_how == INSIDE:
        return f"; the difference begins inside {first_wrong(report).rstrip(',')}"
    is_first = "is inferred to be the first" if report.first_how == INFERRED else "is the first"
    return f"; {first_wrong(report)} {is_first} to go wrong"


def is_guessed(report: ParityReport) -> bool:
    """Say whether weights were placed by a guess that nothing proves."""
    return report.weights.guess is not None and report.weights.guess.sure != PROVEN


def _cases(report: ParityReport) -> str:
    names = [case.name for case in report.cases]
    if len(names) > _NAMED:
        return f"all {len(names)} comparisons"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_wrong(report: ParityReport) -> str:
    """Return what goes wrong first by the candidate's name, and by the reference's where that is another."""
    name, kind = report.first_name, report.first_kind
    found = name if kind in ("", name) else f"{name} ({kind})"
    other = report.first_divergence
    return found if other == name or name == kind else f"{found}, {other} in the reference,"


def module_summary(report: ParityReport) -> list[str]:
    """Say what is known of the modules, the sources left out, in a line for each role."""
    if not report.modules:
        return []
    count = Counter(item.role for item in report.modules)
    lines = []
    right, total = count[""], len(report.modules) - count[MERGED] - count[UNPAIRED]
    which = " that have a partner" if count[UNPAIRED] else ""
    lines.append(
        f"{right} of {total} modules{which} agree where they stand"
        if right != total
        else f"all {total} modules{which} agree"
    )
    victims = _labels(report, VICTIM)
    if victims:
        lines.append(f"victims, right when given the reference's inputs: {some_of(victims, _SHOWN)}")
    unpaired = [f"{item.name or 'all'} ({item.kind})" for item in report.modules if item.role == UNPAIRED]
    if unpaired:
        lines.append(f"modules of the reference without a partner: {some_of(unpaired, _SHOWN)}")
    unknown = _labels(report, UNKNOWN)
    if unknown and report.outcome != AGREES:
        lines.append(f"not judged: {some_of(unknown, _SHOWN)}")
    return lines


def built_with_lines(report: ParityReport) -> list[str]:
    """Say what the two were built with that differs, in a line; none where nothing is known to."""
    if not report.built_with:
        return []
    more = f"; and {len(report.built_with) - _SHOWN} more" if len(report.built_with) > _SHOWN else ""
    return [f"{'; '.join(report.built_with[:_SHOWN])}{more}"]


def _labels(report: ParityReport, role: str) -> list[str]:
    return [item.label for item in report.modules if item.role == role]


def sources(report: ParityReport) -> list[ModuleParity]:
    return [item for item in report.modules if item.role == SOURCE]


def next_step(report: ParityReport) -> str:
    """Say what to do now."""
    if report.outcome == AGREES:
        return ""
    if report.outcome == INCONCLUSIVE:
        return ""  # the reason says it
    if report.outcome == REFERENCES_DIFFER and report.references is not None:
        first = next((item.first for item in report.references.pairs if item.first), "")
        return "decide which reference is right" + (f": they first differ in {first}" if first else "")
    if report.first_name:
        return f"look at {report.first_name}, and run it again"
    return "pair the modules in an adapter, and run it again" if report.adapter_lines else ""


def adapter_advice(report: ParityReport) -> str:
    """Say what the lines of an adapter that a report proposes are for; empty where there are none to show."""
    if not report.adapter_lines or report.outcome == AGREES:
        return ""
    if report.kind == "weights" or report.weights.unplaced or is_guessed(report):
        return "Where weights go, as an adapter says it (adapter=, --adapter); correct what is wrong in it"
    return "" if report.first_name else "Modules that may correspond, as an adapter says it (adapter=, --adapter)"


def random_words(drew: str, side: str, train: bool) -> str:
    """Say why nothing can be said of a side that draws random numbers."""
    what = (
        "set its probability to 0, or compare in eval mode"
        if train
        else "take the randomness out, or pass it in as an input"
    )
    return (
        f"{drew} of the {side} draws random numbers, and two implementations that draw in another order differ "
        f"although both are right, so nothing can be said; {what}"
    )

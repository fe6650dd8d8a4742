"""A result in brief: what leads to the line, in at most two and a half kilobytes, whatever there is to say."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from goldsmith.judge.verdicts import DIFFERS
from goldsmith.model_parity.reference_words import difference_words
from goldsmith.model_parity.result import (
    SOURCE,
    UNKNOWN,
    UNPAIRED,
    BriefParity,
    BriefReferences,
    FirstWrong,
    ModuleParity,
    ParityReport,
)
from goldsmith.model_parity.words import adapter_advice, headline

MOST_BYTES = 2300
"""As it is printed, without the envelope of all commands."""
_SHOWN = 10
_LENGTHS = (160, 80, 40)
_SENTENCE = 3
"""How many times as long as a name a sentence may be."""
_SHAPES, _SHAPE = 4, 30
_NO_PARTNER = "no module of the candidate corresponds"
_ECHO = ("weights placed by the adapter", "weights matched by shape", "weights put together")
"""Notes that only repeat what the reader has said, or what the guess says."""


def in_brief(report: ParityReport) -> BriefParity:
    """Return what somebody in a hurry reads. Where it is too much, the least important is left out first, then names
    and sentences are cut."""
    for most in _LENGTHS:
        found = _without_the_least(_made(report, most))
        if _size(found) <= MOST_BYTES:
            break
    return found


def _made(report: ParityReport, most: int) -> BriefParity:
    """Return everything, no text longer than `most`, or than some times that for sentences."""
    wrong = (item.label for item in report.modules if item.role == SOURCE)
    lines = report.adapter_lines if adapter_advice(report) else ()
    notes = (note for note in report.notes if not note.startswith(_ECHO))
    return BriefParity(
        name=_cut(report.name, most),
        reference=_cut(report.reference, most),
        outcome=report.outcome,
        kind=report.kind,
        reason=_cut(_reason(report), _SENTENCE * most),
        built_with=tuple(_cut(line, most) for line in report.built_with[: _SHOWN // 2]),
        references=_references(report, most),
        first=None if report.first is None else _bounded(report.first, most),
        also=_some((label for label in wrong if label.split(" ")[0] != report.first_name), most),
        unknown=_unknown(report, most),
        unplaced=_some(report.weights.unplaced, most),
        guess=report.weights.guess.sure if report.weights.guess else "",
        adapter_lines=tuple(line for line in lines[:_SHOWN] if len(line) <= _SENTENCE * most),
        notes=tuple(_cut(note, _SENTENCE * most) for note in notes)[: _SHOWN // 2],
    )


def _without_the_least(found: BriefParity) -> BriefParity:
    for name in ("adapter_lines", "notes", "built_with", "unknown", "unplaced", "also"):
        while getattr(found, name) and _size(found) > MOST_BYTES:
            items = getattr(found, name)
            rest = dict(list(items.items())[:-1]) if isinstance(items, dict) else items[:-1]
            found = msgspec.structs.replace(found, **{name: rest})
    return found


def _size(found: BriefParity) -> int:
    return len(msgspec.json.format(msgspec.json.encode({"candidates": [found]}), indent=2))


def _reason(report: ParityReport) -> str:
    if report.outcome != DIFFERS:
        return report.reason
    return headline(report) if report.kind in ("", "values") else f"{headline(report)}: {report.reason}"


def _references(report: ParityReport, most: int) -> BriefReferences | None:
    several = report.references
    if several is None:
        return None
    differ = (difference_words(item) for item in several.pairs if item.outcome == DIFFERS)
    return BriefReferences(
        outcomes={_cut(item.name, most): item.outcome for item in several.references},
        singled_out=_some(several.singled_out, most),
        differ=tuple(_cut(line, _SENTENCE * most) for line in differ)[: _SHOWN // 2],
        moved=several.moved,
    )


def _unknown(report: ParityReport, most: int) -> dict[str, str]:
    """Say why modules could not be judged: those inside the first wrong one before others, and of modules without a
    partner the outermost."""
    alone = [item.name for item in report.modules if item.role == UNPAIRED]
    rows = [item for item in report.modules if item.role == UNKNOWN]
    rows += [
        item
        for item in report.modules
        if item.role == UNPAIRED and not any(item.name.startswith(f"{name}.") for name in alone)
    ]
    inside = f"{report.first.reference}." if report.first is not None and report.first.reference else ""
    rows.sort(key=lambda item: not (inside and item.name.startswith(inside)))
    return {_cut(_label(item), most): _cut(item.why or _NO_PARTNER, most) for item in rows[:_SHOWN]}


def _label(item: ModuleParity) -> str:
    return item.label if item.role == UNKNOWN else f"{item.name or 'the model'} ({item.kind}) of the reference"


def _bounded(first: FirstWrong, most: int) -> FirstWrong:
    shapes = ("inputs", "their_inputs", "outputs", "their_outputs")
    places = ("place", "reference_place")
    texts = ("name", "kind", "reference", "settings", "their_settings", "where", "why")
    return msgspec.structs.replace(
        first,
        **{name: tuple(_cut(shape, _SHAPE) for shape in getattr(first, name)[:_SHAPES]) for name in shapes},
        **{name: _end_of(getattr(first, name), most) for name in places},
        **{name: _cut(getattr(first, name), most) for name in texts},
        unused=_some(first.unused[:_SHAPES], most),
    )


def _some(names: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(_cut(name, most) for name in list(names)[:_SHOWN])


def _end_of(place: str, most: int) -> str:
    return place if len(place) <= most else f"…{place[1 - most :]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

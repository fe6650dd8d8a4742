"""Places for weights that the parent guesses and has tried: rules for one load, and what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from goldsmith.runs.implementation import IdleLine, LoadRequest
from goldsmith.runs.notes import Note
from goldsmith.weights.axes import Shape
from goldsmith.weights.rule_lines import line_of, no_counterpart_line, why_idle
from goldsmith.weights.rules import Adapter, Rule, match, rule_of


def with_guesses(adapter: Adapter, request: LoadRequest, alike: Iterable[tuple[str, str, bool]] = ()) -> Adapter:
    """Return an adapter with more rules after its own: for weights that hold `alike` numbers, then the guesses; and
    what has no place excused."""
    guessed = [rule_of((one,), (two,), turned) for one, two, turned in alike]
    guessed += [rule_of(rule.gold, rule.theirs, rule.transpose, rule.by_head, rule.axes) for rule in request.guessed]
    excused = adapter.without_gold | dict.fromkeys(request.missing, "it has no place")
    return dataclasses.replace(adapter, rules=[*adapter.rules, *guessed], without_gold=excused, rules_first=True)


def idle_lines(
    adapter: Adapter,
    rules: Sequence[Rule],
    weights: Mapping[str, Shape],
    theirs: Mapping[str, Shape],
    placed: Iterable[tuple[Sequence[str], Sequence[str]]] = (),
) -> tuple[IdleLine, ...]:
    """Return the lines of an adapter that place or excuse nothing: `rules`, and patterns that fit no name."""
    taken = {name: " + ".join(other) for mine, other in placed for name in mine}
    found = []
    for rule in rules:
        mine, other = (side[0].name if len(side) == 1 else "" for side in (rule.gold, rule.theirs))
        why = why_idle(rule, weights, theirs, taken)
        found.append(IdleLine(line=line_of(rule), why=why, gold=mine, theirs=other))
    for side, patterns, names in (
        ("gold", adapter.without_gold, weights),
        ("theirs", adapter.without_theirs, theirs),
    ):
        for pattern, reason in patterns.items():
            if not any(match(pattern, name) is not None for name in names):
                line = no_counterpart_line(**{side: pattern}, reason=reason)
                whose = "reference" if side == "gold" else "candidate"
                found.append(IdleLine(line=line, why=f"the {whose} has no weight {pattern}"))
    return tuple(found)


def load_notes(notes: Sequence[Note], request: LoadRequest) -> tuple[str, ...]:
    """Say what was assumed; a guess is no rule of an adapter."""
    if not request.keep:
        return ()
    found = (note.words for note in notes if not (request.guessed and note.kind == "adapter"))
    return tuple(note.replace("gold", "the reference") for note in found)


def renamed_by(adapter: Adapter) -> tuple[tuple[str, str], ...]:
    """Return the patterns of an adapter's plain renames, which may name modules, too."""
    return tuple((rule.gold[0].name, rule.theirs[0].name) for rule in adapter.rules if rule.parts == 1)

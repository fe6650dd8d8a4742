"""Places for weights that the parent guesses and has tried, or that the user's function makes: rules for one load, and
what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldsmith.runs.implementation import IdleLine, Loaded, LoadRequest
from goldsmith.runs.live.model_facts import shapes_of
from goldsmith.runs.live.run_record import failure_of
from goldsmith.runs.notes import Note
from goldsmith.weights.axes import Shape
from goldsmith.weights.loaded import CannotConvert, Convert
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


def load_converted(
    models: Any, module: Any, weights: Mapping[str, Any], request: LoadRequest, convert: Convert, adapter: Adapter
) -> tuple[Any, Loaded]:
    """Put weights into a module as a function of the user's makes them; return what holds them, None if it cannot."""
    try:
        loaded = models.ConvertedModule(module, weights, request.facts, convert)
    except CannotConvert as problem:
        return None, Loaded(refusal=f"convert cannot be used: {problem}")
    except Exception as error:  # it is the user's code
        return None, Loaded(refusal=f"convert fails: {failure_of(error).message}")
    return loaded, Loaded(
        placed=tuple((item.gold, item.theirs) for item in loaded.placed),
        notes=tuple(loaded.notes),
        idle=idle_lines(adapter, adapter.rules, shapes_of(weights), shapes_of(models.state(module))),
        renamed=renamed_by(adapter),
        opaque=loaded.is_opaque,
    )

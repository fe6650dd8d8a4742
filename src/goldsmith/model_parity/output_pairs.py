"""Which of the values that two models return correspond."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldsmith.foundation.wording import some_of
from goldsmith.runs.implementation import OUTPUT
from goldsmith.runs.run import Run

_LISTED = 6


class CannotPairOutputs(Exception):
    """Outputs that do not say which is which; the message does, with what to write."""


@dataclass
class OutputPairs:
    """The candidate's path for each of the reference's; `notes` say what was assumed."""

    paths: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


Spelling = Callable[[Mapping[str, str]], str]


def spell_as_argument(pairs: Mapping[str, str]) -> str:
    """Say which output is which, as an argument of `goldsmith.parity`."""
    return f"outputs={dict(pairs)!r}"


def spell_as_options(pairs: Mapping[str, str]) -> str:
    """Say which output is which, as options of the command."""
    return " ".join(f"--output {shlex.quote(f'{mine}={theirs}')}" for mine, theirs in pairs.items())


def pair_outputs(mine: Run, theirs: Run, asked: Mapping[str, str], spell: Spelling = spell_as_argument) -> OutputPairs:
    """Pair outputs as the caller `asked`, else by name, else the only ones; raise if that is not clear."""
    one, two = _outputs(mine), _outputs(theirs)
    if not one:
        raise CannotPairOutputs("the reference returns nothing that can be compared")
    if asked:
        return _as_asked(one, two, asked, spell)
    if not two:
        raise CannotPairOutputs(f"the candidate returns nothing that can be compared ({theirs.facts.returned})")
    both = [path for path in one if path in two]
    if both and (len(both) == len(one) or mine.facts.returned == theirs.facts.returned != "tuple"):
        return _by_name(one, two)
    if len(one) == len(two) == 1:
        path, other = next(iter(one)), next(iter(two))
        note = f"the reference returns {_named(path)}, the candidate {_named(other)}: taken for the same"
        return OutputPairs({path: other}, [note])
    if len(one) == 1:
        return _one_of_several(one, two, theirs.facts.returned, spell)
    fitting = [path for path, value in one.items() if _fits(next(iter(two.values())), value)]
    if len(two) == 1 and len(fitting) == 1:
        left = ", ".join(_named(path) for path in list(one)[:_LISTED] if path != fitting[0])
        note = (
            f"the reference returns {len(one)} values; {_named(fitting[0])}, the only one that fits what the candidate "
        )
        return OutputPairs({fitting[0]: next(iter(two))}, [f"{note}returns, was compared, and not {left}"])
    if mine.facts.returned == theirs.facts.returned == "tuple":
        return _by_name(one, two)
    raise CannotPairOutputs(_question(mine, theirs, one, two, spell))


def _by_name(one: Mapping[str, Any], two: Mapping[str, Any]) -> OutputPairs:
    """Pair what has the same name; what the candidate lacks will be missed when it is compared."""
    extra = [_named(path) for path in two if path not in one]
    notes = [f"the candidate also returns {', '.join(extra[:_LISTED])}, which is not compared"] if extra else []
    return OutputPairs({path: path for path in one}, notes)


def _one_of_several(one: Mapping[str, Any], two: Mapping[str, Any], returned: str, spell: Spelling) -> OutputPairs:
    """Pair the only value of the reference's with the only one that fits it, or the first in a tuple."""
    path, value = next(iter(one.items()))
    first, *_ = two
    same = [other for other, item in two.items() if _fits(item, value)]
    if len(same) != 1 and (first not in same or returned != "tuple"):
        listed = _described(two)
        fitting = "several" if same else "none"
        raise CannotPairOutputs(
            f"the reference returns one tensor ({_form_words(value)}), the candidate several ({listed}), {fitting} of "
            f"that shape and kind: say which it is with {spell({_short(path): _short((same or [first])[0])})}"
        )
    chosen = same[0] if len(same) == 1 else first
    which = "the only one that fits" if len(same) == 1 else f"the first of {len(same)} that fit"
    note = f"the candidate returns {len(two)} values; {_named(chosen)}, {which}, was compared"
    return OutputPairs({path: chosen}, [note])


def _as_asked(one: Mapping[str, Any], two: Mapping[str, Any], asked: Mapping[str, str], spell: Spelling) -> OutputPairs:
    found = OutputPairs()
    for mine, theirs in asked.items():
        for name, values, side in ((mine, one, "reference"), (theirs, two, "candidate")):
            if _long(name) not in values:
                raise CannotPairOutputs(
                    f"{spell({mine: theirs})} names {name!r}, which the {side} does not return; it returns "
                    f"{_described(values)}"
                )
        found.paths[_long(mine)] = _long(theirs)
    left = [_named(path) for path in one if path not in found.paths]
    if left:
        found.notes.append(f"not compared, as it is not named: {', '.join(left[:_LISTED])}")
    return found


def _question(mine: Run, theirs: Run, one: Mapping[str, Any], two: Mapping[str, Any], spell: Spelling) -> str:
    """Say what each side returns, and how to say which is which, with a guess by shape and order."""
    guess, free = {}, list(two)
    for path, value in one.items():
        same = next((other for other in free if shape_of(two[other]) == shape_of(value)), None)
        if same is not None:
            free.remove(same)
            guess[_short(path)] = _short(same)
    said = guess or {_short(next(iter(one))): _short(next(iter(two)))}
    return (
        f"the reference returns a {mine.facts.returned} ({_described(one)}), the candidate a {theirs.facts.returned} "
        f"({_described(two)}): say which is which, the reference's name first, with {spell(said)}"
    )


def _outputs(ran: Run) -> dict[str, Any]:
    return {path: value for path, value in ran.values.items() if path.partition(".")[0] == OUTPUT}


def _described(values: Mapping[str, Any]) -> str:
    return some_of((f"{_short(path) or 'one'}: {shape_words(value)}" for path, value in values.items()), _LISTED)


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _fits(one: Any, two: Any) -> bool:
    return (shape_of(one), _kind(one)) == (shape_of(two), _kind(two))


def _kind(value: Any) -> str:
    """Return what kind of numbers a value holds, whatever their size."""
    name = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.").lower()
    kinds = {"bfloat": "float", "float": "float", "complex": "complex", "bool": "bool"}
    return next((kind for start, kind in kinds.items() if name.startswith(start)), "int")


def _form_words(value: Any) -> str:
    return f"{shape_words(value)} {_kind(value)}" if shape_of(value) else "a number"


def shape_words(value: Any) -> str:
    return "×".join(map(str, shape_of(value))) or "a number"


def _short(path: str) -> str:
    return path.removeprefix(OUTPUT).lstrip(".")


def _long(name: str) -> str:
    return f"{OUTPUT}.{name}" if name else OUTPUT


def _named(path: str) -> str:
    return _short(path) or "one value"

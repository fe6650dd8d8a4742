"""What two implementations were built with, compared by name and value before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from goldsmith.runs.implementation import Described

_OFF = ("False", "0", "", "()")
"""What switches something off, so that nothing is lost where it is not known."""


def differences(mine: Described, theirs: Described) -> tuple[str, ...]:
    """Say what both were built with under the same name and with another value, the reference's first; what one has in
    its configuration alone, its modules having another value; and what only one of two configurations has."""
    return (*_differing(mine, theirs), *_lacking(mine.config, theirs.config))


def _differing(mine: Described, theirs: Described) -> Iterator[str]:
    for name in dict.fromkeys((*mine.config, *mine.arguments)):
        one, two = ((item.config.get(name), item.arguments.get(name)) for item in (mine, theirs))
        both = next((pair for pair in zip(one, two, strict=True) if None not in pair and pair[0] != pair[1]), None)
        if both is None and not {*one} & {*two} - {None}:
            both = one[0] or one[1], two[0] or two[1]
        if both is not None and None not in both:
            yield f"{name} {both[0]} and {both[1]}"
            continue
        for (said, inside), side in ((one, "reference"), (two, "candidate")):
            if one[0] == two[0] and None not in (said, inside) and said != inside:
                yield f"{name} {said} in both configurations, and {inside} in the {side}'s modules"


def _lacking(mine: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    """Say which entries one configuration has and the other ignores, where they are of the same form: most of what the
    one has, the other has, too."""
    if len(mine.keys() & theirs.keys()) * 2 < max(len(mine), len(theirs)):
        return
    for own, other, side in ((mine, theirs, "candidate"), (theirs, mine, "reference")):
        for name, text in own.items():
            if name not in other and text not in _OFF:
                yield f"{name} {text}, which the {side} does not have"

"""Guess where weights go that could not be placed: module by module, as an adapter could say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Guess:
    """A weight of the reference's, and where it may belong; `turned` if it is stored the other way round there."""

    mine: str
    theirs: str
    turned: bool = False


def guess_places(unplaced: Mapping[str, Shape], free: Mapping[str, Shape]) -> list[Guess]:
    """Guess from modules: those of one layer that hold weights of the same shapes correspond, in the order of both."""
    mine, theirs = _by_module(unplaced), _by_module(free)
    found: list[Guess] = []
    for name, shapes in mine.items():
        for other in sorted(theirs, key=lambda item: _numbers(item) != _numbers(name)):
            pairs = list(_pair(name, shapes, other, theirs[other]))
            if len(pairs) == len(shapes) == len(theirs[other]):
                found += pairs
                del theirs[other]
                break
    return found


def weight_lines(unplaced: Mapping[str, Shape], free: Mapping[str, Shape]) -> list[str]:
    """Return lines of an adapter that would place weights as they are guessed; numbers become stars, so that one line
    serves all layers."""
    guesses = {item.mine: item for item in guess_places(unplaced, free)}
    lines: dict[str, None] = {}
    for name in unplaced:
        guess = guesses.get(name)
        if guess is None:
            lines[f'no_counterpart(gold="{starred(name)}", reason="the candidate has none")'] = None
        else:
            more = ", transpose=True" if guess.turned else ""
            lines[f'rename("{starred(name)}", "{starred(guess.theirs)}"{more})'] = None
    return list(lines)


def starred(name: str) -> str:
    """Return a pattern that fits the same name in all layers."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def _by_module(shapes: Mapping[str, Shape]) -> dict[str, dict[str, Shape]]:
    found: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        module, _, leaf = name.rpartition(".")
        found.setdefault(module, {})[leaf] = shape
    return found


def _pair(mine: str, shapes: Mapping[str, Shape], theirs: str, others: Mapping[str, Shape]) -> Iterator[Guess]:
    """Pair the weights of two modules: of the same name, else the first of the same shape."""
    left = dict(others)
    for leaf, shape in shapes.items():
        for turned in (False, True) if len(shape) == 2 else (False,):
            wanted = shape[::-1] if turned else shape
            same = [other for other, its in left.items() if its == wanted]
            if same:
                chosen = leaf if leaf in same else same[0]
                del left[chosen]
                yield Guess(_joined(mine, leaf), _joined(theirs, chosen), turned)
                break


def _joined(module: str, leaf: str) -> str:
    return f"{module}.{leaf}" if module else leaf


def _numbers(name: str) -> list[str]:
    return [part for part in name.split(".") if part.isdecimal()]

"""Find out which modules of gold and of a submission correspond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]


def module_names(pairs: Pairs, gold: Iterable[str], there: Collection[str]) -> dict[str, str]:
    """Map gold's modules, by name, to those that are `there`, by the weights that were found to correspond."""
    votes: dict[str, Counter[str]] = {}
    for mine, other in pairs:
        if len(mine) == len(other) == 1:
            _vote(votes, mine[0].split(".")[:-1], other[0].split(".")[:-1])
        else:
            _vote(votes, _around_all(mine), _around_all(other), len(mine) * len(other))
    names = {name: count.most_common(1)[0][0] for name, count in votes.items()}
    found = {name: other for name, other in names.items() if other in there}
    found[""] = ""
    for name in sorted(gold, key=lambda name: name.count(".")):
        if name in found:
            continue
        above, _, last = name.rpartition(".")
        same = f"{found[above]}.{last}" if found.get(above) else last
        if above in found and same in there:
            found[name] = same
        elif name in there and name not in found.values():
            found[name] = name
    return found


def _around_all(weights: Sequence[str]) -> list[str]:
    """Return the path of the module that holds several weights, or what one weight holds in the place of several: a
    matrix with a module of its own is part of the module around that."""
    paths = [name.split(".") for name in weights]
    if len(paths) == 1:
        return paths[0][: -2 if paths[0][-1] in ("weight", "bias") else -1]
    parts = (set(parts) for parts in zip(*(path[:-1] for path in paths), strict=False))
    return [next(iter(part)) for part in takewhile(lambda part: len(part) == 1, parts)]


def _vote(votes: dict[str, Counter[str]], mine: Sequence[str], other: Sequence[str], count: int = 1) -> None:
    """Vote that two modules correspond, and the modules around them, level by level."""
    for level in range(min(len(mine), len(other))):
        name, its = ".".join(mine[: len(mine) - level]), ".".join(other[: len(other) - level])
        votes.setdefault(name, Counter())[its] += count

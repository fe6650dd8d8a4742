"""Find out which modules of gold and of a submission correspond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]


def module_names(pairs: Pairs, gold: Iterable[str], there: Collection[str]) -> dict[str, str]:
    """Map gold's modules, by name, to those that are `there`, by the weights that were found to correspond."""
    votes: dict[str, Counter[str]] = {}
    for mine, other in pairs:
        start = 0 if len(mine) == len(other) == 1 else 1
        for one in mine:
            for two in other:
                _vote(votes, one, two, start)
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


def _vote(votes: dict[str, Counter[str]], one: str, two: str, start: int) -> None:
    """Vote that the modules of two weights correspond, and the modules around them, level by level."""
    mine, other = one.split(".")[:-1], two.split(".")[:-1]
    for level in range(start, min(len(mine), len(other))):
        name, its = ".".join(mine[: len(mine) - level]), ".".join(other[: len(other) - level])
        votes.setdefault(name, Counter())[its] += 1

"""Work in shares, for machines that share nothing: which of `of` shares each piece is in, and whether parts that came
back are all of one piece of work.

Each machine works out the same shares by itself. What it found is merged only where all were made of the same: nothing
here takes a part's word for more than what stands in it.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from goldsmith.errors.shares import ForeignPart, PartUnreadable, SharedTwice, SharesMissing
from goldsmith.foundation.sealed_files import NotSealed

Record = TypeVar("Record")
MAX_SHARES = 10_000
_SHARE = re.compile(r"(\d{1,9})/(\d{1,9})")
_LEAST_S = 0.05
"""What any piece of work costs, however short: opening it, writing it down."""
_SHOWN_CHARS = 60
"""A hash says nothing to anybody; a version does."""


class Share(NamedTuple):
    """Share `number` of `of`, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def read_share(text: str) -> Share:
    """Read a share such as `3/16`; `ValueError` says what is wanted instead."""
    found = _SHARE.fullmatch(text.strip())
    if found is None:
        raise ValueError("K/N, such as 3/16: the third of sixteen shares")
    share = Share(int(found[1]), int(found[2]))
    if not 1 <= share.of <= MAX_SHARES:
        raise ValueError(f"K/N with 1 to {MAX_SHARES:,} shares, such as 3/16")
    if not 1 <= share.number <= share.of:
        raise ValueError(f"a share from 1/{share.of} to {share.of}/{share.of}: they are counted from 1")
    return share


def share_out(work: Sequence[tuple[str, float]], of: int) -> tuple[int, ...]:
    """Return which share each piece of work is in, from its name and seconds: the longest first, each to the share that
    has least to do so far. Where all take the same, shares differ by at most one piece."""
    order = sorted(range(len(work)), key=lambda place: (-work[place][1], work[place][0], place))
    loads = [(0.0, 0, number) for number in range(1, of + 1)]
    found = [0] * len(work)
    for place in order:
        seconds, count, found[place] = heapq.heappop(loads)
        heapq.heappush(loads, (seconds + work[place][1], count + 1, found[place]))
    return tuple(found)


def expected_seconds(names: Sequence[str], known: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the seconds that each piece of work should take by what is known of an earlier run: where it is not known
    of one, what is usual; where nothing is known, all the same."""
    taken = {name: known[name] if known[name] > _LEAST_S else _LEAST_S for name in names if name in known}
    usual = sorted(taken.values())[len(taken) // 2] if taken else 1.0
    return [(name, taken.get(name, usual)) for name in names]


def read_part(folder: Path, name: str, read: Callable[[Path], Record]) -> Record:
    """Read what one machine has left in a folder, in a file of this name."""
    try:
        return read(folder)
    except NotSealed as problem:
        raise PartUnreadable(str(folder), f"of {name} in it, {problem}") from None
    except FileNotFoundError:
        why = f"it has no {name}: its share did not come to an end"
        raise PartUnreadable(str(folder), why if folder.is_dir() else "there is no such folder") from None
    except OSError as error:
        raise PartUnreadable(str(folder), f"it cannot be read ({error.strerror or error})") from None


@dataclass(frozen=True)
class Part:
    """What one machine has brought back, from a `place` as people call it. `facts` are what all parts must have in
    common, each under what it is called if it is another; `shares` says which share each piece of work is in, and
    `done` which pieces there are results of."""

    place: str
    share: Share
    facts: Mapping[str, Any]
    shares: Sequence[int]
    done: Sequence[bool] = field(repr=False)


def require_whole(parts: Sequence[Part]) -> list[Part]:
    """Return the parts in their order. Raise unless they were made of the same, and are all shares, each once and
    whole."""
    for part in parts:
        number, of = part.share
        is_one = 1 <= number <= of <= MAX_SHARES and all(1 <= share <= of for share in part.shares)
        if not is_one or list(part.done) != [share == number for share in part.shares]:
            raise PartUnreadable(part.place, f"it holds other work than that of share {part.share}")
    for name in dict.fromkeys(name for part in parts for name in part.facts):
        _require_same(parts, name)
    by_number: dict[int, Part] = {}
    for part in parts:
        other = by_number.setdefault(part.share.number, part)
        if other is not part:
            raise SharedTwice(other.place, part.place, str(part.share))
    of = parts[0].share.of
    missing = [str(Share(number, of)) for number in range(1, of + 1) if number not in by_number]
    if missing:
        raise SharesMissing(missing)
    return [by_number[number] for number in sorted(by_number)]


def _require_same(parts: Sequence[Part], name: str) -> None:
    """Name the part that is unlike most; of two, the second."""
    values = [part.facts.get(name) for part in parts]
    told = [repr(value) for value in values]
    usual, count = Counter(told).most_common(1)[0]
    if count == len(parts):
        return
    odd, other = next(place for place, value in enumerate(told) if value != usual), told.index(usual)
    pair = (values[odd], values[other])
    is_short = all(isinstance(value, str | int | float) and len(str(value)) <= _SHOWN_CHARS for value in pair)
    raise ForeignPart(parts[odd].place, parts[other].place, name, pair if is_short else ())

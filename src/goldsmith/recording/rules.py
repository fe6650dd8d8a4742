"""What a course's adapter says about submissions that are built differently: where gold's weights belong in them, and
how their parts are called.

Patterns name weights by their dotted path. `*` stands for one part of it, `**` for any number of parts, none included;
what the stars of gold's pattern stood for is put in place of the stars of theirs.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

BLOCKS = "part head row"
ORDERS = (BLOCKS, "head part row", "head row part")

F = TypeVar("F", bound=Callable[..., Any])


class BadRule(ValueError):
    """A rule that cannot mean anything, told in words."""


@dataclass(frozen=True)
class Rule:
    """Gold's weights under `gold` are theirs under `theirs`; see `rows` and `rename` in `goldsmith.adapter`."""

    gold: tuple[str, ...]
    theirs: tuple[str, ...]
    gold_order: str = BLOCKS
    theirs_order: str = BLOCKS
    heads: int | str = 1
    parts: int = 1
    transpose: bool = False

    @property
    def words(self) -> str:
        return f"{' + '.join(self.gold)} as {' + '.join(self.theirs)}"


@dataclass
class Adapter:
    """The rules of one adapter file. `layouts` are alternatives that are tried when nothing else agrees."""

    rules: list[Rule] = field(default_factory=list)
    layouts: dict[str, list[Rule]] = field(default_factory=dict)
    without_gold: dict[str, str] = field(default_factory=dict)
    without_theirs: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    calls: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def excuses(self, gold_name: str) -> bool:
        """Whether the course says that this weight of gold's has no counterpart."""
        return any(match(pattern, gold_name) is not None for pattern in self.without_gold)

    def layouts_of(self, gold_names: Collection[str]) -> list[str]:
        """The alternatives that move any of these weights."""
        return [
            layout
            for layout, rules in self.layouts.items()
            if any(match(item, name) is not None for rule in rules for item in rule.gold for name in gold_names)
        ]


_current = Adapter()
_layout: str | None = None


def read_adapter(source: bytes, file: str) -> Adapter:
    """Run an adapter file, the course's own code, and take the rules it declared."""
    global _current, _layout
    _current, _layout = Adapter(), None
    exec(compile(source, file, "exec", dont_inherit=True), {"__name__": "goldsmith_adapter", "__file__": file})
    return _current


# --- what an adapter file is written with: the public face is `goldsmith.adapter` ---------------------------------


def rename(gold: str, theirs: str, *, transpose: bool = False) -> None:
    """Gold's weights called `gold` are called `theirs` in a submission, `transpose`d if it keeps them that way."""
    _add(Rule((gold,), (theirs,), transpose=transpose))


def rows(
    gold: str | Sequence[str],
    theirs: str | Sequence[str],
    *,
    gold_order: str = BLOCKS,
    theirs_order: str = BLOCKS,
    heads: int | str = 1,
    parts: int | None = None,
    transpose: bool = False,
) -> None:
    """One matrix here, several there: rows are split, fused, or put in another order.

    An order says how the rows of a fused matrix lie: `part head row` has all rows of the first part, then all of the
    second; `head part row` has, for each head, its rows of every part; `head row part` interleaves row by row. `heads`
    is their number, or the name of the model's setting that has it.
    """
    mine = (gold,) if isinstance(gold, str) else tuple(gold)
    other = (theirs,) if isinstance(theirs, str) else tuple(theirs)
    count = parts or max(len(mine), len(other))
    if any(order not in ORDERS for order in (gold_order, theirs_order)):
        raise BadRule(f"an order of rows is one of: {', '.join(ORDERS)}")
    if any(len(names) not in (1, count) for names in (mine, other)):
        raise BadRule(f"{len(mine)} of gold's and {len(other)} of theirs do not make {count} parts")
    _add(Rule(mine, other, gold_order, theirs_order, heads, count, transpose))


def no_counterpart(*, gold: str = "", theirs: str = "", reason: str) -> None:
    """Weights that only one side has, by right: they are neither placed nor compared."""
    if bool(gold) == bool(theirs) or not reason.strip():
        raise BadRule("no_counterpart takes gold= or theirs=, and a reason")
    (_current.without_gold if gold else _current.without_theirs)[gold or theirs] = reason


@contextlib.contextmanager
def layout(name: str) -> Iterator[None]:
    """Rules in this block are an alternative under a name: tried when a submission does not agree without them."""
    global _layout
    _layout, before = name, _layout
    _current.layouts.setdefault(name, [])
    try:
        yield
    finally:
        _layout = before


def part(name: str) -> Callable[[F], F]:
    """Decorates what stands in for `module.name` in the recipe; it gets theirs first, then the recipe's arguments."""

    def keep(function: F) -> F:
        if name.count(".") < 1:
            raise BadRule(f"{name!r} must name a module and a part of it, such as backbone.train_epoch")
        _current.parts[name] = function
        return function

    return keep


def call(class_name: str) -> Callable[[F], F]:
    """Decorates how a model of class `class_name` is called; it is given theirs first, then the recipe's arguments."""

    def keep(function: F) -> F:
        _current.calls[class_name] = function
        return function

    return keep


def _add(rule: Rule) -> None:
    stars = [_stars(pattern) for pattern in (*rule.gold, *rule.theirs)]
    if any(item != stars[0] for item in stars):
        raise BadRule(f"{rule.words}: every pattern needs the same stars in the same order")
    (_current.rules if _layout is None else _current.layouts[_layout]).append(rule)


# --- patterns -----------------------------------------------------------------------------------------------------


def match(pattern: str, name: str) -> tuple[str, ...] | None:
    """What the stars of `pattern` stand for in `name`, None where it does not fit."""
    found = re.fullmatch(_expression(pattern), name)
    return tuple(item or "" for item in found.groups()) if found else None


def fill(pattern: str, stars: Sequence[str]) -> str:
    """`pattern` with its stars filled in; a `**` that stands for nothing takes its dot along."""
    rest = list(stars)
    text = re.sub(r"\*\*\.?|\*", lambda item: _filled(item[0], rest.pop(0)), pattern)
    return text.rstrip(".")


def _filled(star: str, value: str) -> str:
    return f"{value}." if star == "**." and value else value


def _expression(pattern: str) -> str:
    pieces = re.split(r"(\*\*\.|\*\*|\*)", pattern)
    forms: Mapping[str, str] = {"**.": r"(?:(.+)\.)?", "**": "(.*)", "*": r"([^.]+)"}
    return "".join(forms.get(piece, re.escape(piece)) for piece in pieces)


def _stars(pattern: str) -> list[str]:
    return re.findall(r"\*\*|\*", pattern)

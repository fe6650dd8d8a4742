"""Rules of a course's adapter for submissions that are built differently: where gold's weights go, what their parts
are called.

Patterns name weights by their dotted path. `*` matches one component, `**` any number of components, including none.
What the stars of gold's pattern matched replaces the stars of theirs. `#`, on one side, is an index: the other side has
one tensor for all of them, along its first axis.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from goldsmith.runs.notes import Names
from goldsmith.weights.axes import read_axes

BLOCKS = "part head row"
ORDERS = (BLOCKS, "head part row", "head row part")
ALTERNATING = "parts of a fused matrix alternate head by head"
BY_PIXEL = "patches are read pixel by pixel"
INDEX = "#"
BUILT_IN = (ALTERNATING, BY_PIXEL)
"""Layouts that are tried without an adapter: the opposite of what is assumed by default."""
_LETTERS = re.compile(r"(?:w|b|to|proj|lin|linear|fc)?([qkv]{1,3})(?:proj|lin|linear|layer)?")
_WORDS = {"query": "q", "queries": "q", "key": "k", "keys": "k", "value": "v", "values": "v"}

F = TypeVar("F", bound=Callable[..., Any])


class BadRule(ValueError):
    """A rule that makes no sense; the message says why."""


@dataclass(frozen=True)
class Matrix:
    """Weights under `name` that hold `parts` next to each other; for `order`, the order of their rows, see `rows`."""

    name: str
    parts: int = 1
    order: str = BLOCKS
    heads: int | str = 1


@dataclass(frozen=True)
class Rule:
    """Which weights of gold's are which of theirs; see `rows` and `rename` in `goldsmith.adapter`.

    `counted` says that the adapter gives the number of parts, so that parts may be of any size; `indexed` is the side,
    `gold` or `theirs`, whose names have an index.
    """

    gold: tuple[Matrix, ...]
    theirs: tuple[Matrix, ...]
    transpose: bool = False
    counted: bool = False
    axes: tuple[int, ...] | str = ()
    indexed: str = ""

    @property
    def parts(self) -> int:
        return sum(item.parts for item in self.gold)

    @property
    def words(self) -> str:
        return f"{' + '.join(self.names.gold)} as {' + '.join(self.names.theirs)}"

    @property
    def names(self) -> Names:
        return Names(tuple(item.name for item in self.gold), tuple(item.name for item in self.theirs))


@dataclass
class Adapter:
    """The rules of one adapter file. `layouts` are alternatives that are tried when nothing else agrees. `rules_first`
    says that rules are for these two models, and come before equal names."""

    rules: list[Rule] = field(default_factory=list)
    layouts: dict[str, list[Rule]] = field(default_factory=lambda: {name: [] for name in BUILT_IN})
    without_gold: dict[str, str] = field(default_factory=dict)
    without_theirs: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    calls: dict[str, Callable[..., Any]] = field(default_factory=dict)
    rules_first: bool = False

    def excuses(self, gold_name: str) -> bool:
        """Return whether the adapter says that this weight of gold's has no counterpart."""
        return any(match(pattern, gold_name) is not None for pattern in self.without_gold)

    def layouts_of(self, gold_names: Collection[str]) -> list[str]:
        """Return the alternative layouts that could move any of these weights."""
        return [
            layout
            for layout, rules in self.layouts.items()
            if any(match(item.name, name) is not None for rule in rules for item in rule.gold for name in gold_names)
            or any(_may_be_about(layout, name) for name in gold_names)
        ]


def _may_be_about(layout: str, gold_name: str) -> bool:
    """Return whether a built-in layout could move a weight; a layout that cannot match is not worth the time to try."""
    if layout == ALTERNATING:
        return bool(parts_named(gold_name)) or "att" in gold_name.lower()
    return layout == BY_PIXEL and bool(re.search("patch|pixel|conv|stem", gold_name.lower()))


_current = Adapter()
_layout: str | None = None


def read_adapter(source: bytes, file: str) -> Adapter:
    """Run an adapter file (the course's own code) and return the rules it declares."""
    global _current, _layout
    _current, _layout = Adapter(), None
    exec(compile(source, file, "exec", dont_inherit=True), {"__name__": "goldsmith_adapter", "__file__": file})
    return _current


def adapter_from(declare: Callable[[], object]) -> Adapter:
    """Call a function that declares rules as an adapter file does, and return them."""
    global _current, _layout
    _current, _layout = Adapter(), None
    declare()
    return _current


def rule_of(
    gold: Sequence[str], theirs: Sequence[str], transpose: bool = False, by_head: bool = False, axes: str = ""
) -> Rule:
    """Return the rule that a line of an adapter would declare: a renaming, or matrices that are split or fused, where
    those that hold several parts may have them head by head."""

    def declare() -> None:
        if len(gold) == len(theirs) == 1:
            rename(gold[0], theirs[0], transpose=transpose, axes=axes)
        else:
            order = ORDERS[1] if by_head else BLOCKS
            mine, other = (order, BLOCKS) if len(gold) == 1 else (BLOCKS, order)
            rows(
                list(gold),
                list(theirs),
                gold_order=mine,
                theirs_order=other,
                heads="num_heads" if by_head else 1,
                transpose=transpose,
                axes=axes,
            )

    (found,) = adapter_from(declare).rules
    return found


# --- functions for adapter files; they are public as `goldsmith.adapter` ------------------------------------------


def rename(gold: str, theirs: str, *, transpose: bool = False, axes: str | Sequence[int] = ()) -> None:
    """Declare that gold's weights `gold` are called `theirs` in a submission, `transpose`d if it stores them that way.

    The shape may differ: a convolution over patches (8×3×4×4) as a matrix (8×48). `axes` says how gold's axes lie in
    theirs, as a pattern of names: "o i h w -> h w i o", "(heads d) e -> e heads d" for a matrix that is split by heads,
    "i o h w -> -h -w i o" for a kernel that is reversed. Or it is the order in which the axes of the shape with more
    axes are read: (0, 2, 3, 1) for a matrix whose columns go pixel by pixel, all channels of each, instead of channel
    by channel.

    `#` in the names of one side says that the other has one tensor for all of them, along its first axis: experts or
    layers, one by one there.
    """
    if not isinstance(axes, str):
        if axes and (transpose or sorted(axes) != list(range(len(axes)))):
            raise BadRule(f"axes must be each of 0 to {len(axes) - 1} once, and not with transpose")
        axes = tuple(axes)
    _add(Rule((Matrix(gold),), (Matrix(theirs),), transpose, axes=axes or ()))


def rows(
    gold: str | Matrix | Sequence[str | Matrix],
    theirs: str | Matrix | Sequence[str | Matrix],
    *,
    gold_order: str = BLOCKS,
    theirs_order: str = BLOCKS,
    heads: int | str = 1,
    parts: int | None = None,
    transpose: bool = False,
    axes: str = "",
) -> None:
    """Declare that matrices are split, fused, or have their rows in a different order.

    An order says how the rows of a fused matrix are arranged: `part head row` has all rows of the first part, then all
    of the second; `head part row` has, for each head, its rows of every part; `head row part` interleaves row by row.
    `heads` is their number, or the name of the model's setting that holds it. Use `fused` for a matrix that holds
    several of the parts next to matrices that hold the others, `transpose` where one side stores a row for each input.
    `#` and `axes` are as in `rename`; these are the axes of each matrix, before they are fused or split.
    """
    sides = [[item] if isinstance(item, str | Matrix) else list(item) for item in (gold, theirs)]
    count = parts or max(sum(1 if isinstance(item, str) else item.parts for item in side) for side in sides)
    made = []
    for side, order in zip(sides, (gold_order, theirs_order), strict=True):
        lone = len(side) == 1
        made.append(tuple(_matrix(item, count if lone else 1, order if lone else BLOCKS, heads) for item in side))
    mine, other = made
    if any(item.order not in ORDERS for item in (*mine, *other)) or {gold_order, theirs_order} - set(ORDERS):
        raise BadRule(f"an order of rows is one of: {', '.join(ORDERS)}")
    if any(sum(item.parts for item in side) != count for side in made):
        raise BadRule(f"{len(mine)} of gold's and {len(other)} of theirs do not make {count} parts")
    for item in (item for side in made if len(side) > 1 for item in side):
        if item.parts == 1 and len(parts_named(item.name)) > 1:
            raise BadRule(f"{_several(item.name)}: {_how_to_say(item.name, len(parts_named(item.name)))}")
    _add(Rule(mine, other, transpose, counted=parts is not None, axes=axes or ()))


def fused(name: str, parts: int, order: str = BLOCKS, *, heads: int | str = 0) -> Matrix:
    """Describe a matrix in `rows` that holds several parts next to others, such as k and v next to a separate q."""
    return Matrix(name, parts, order, heads)


def _matrix(item: str | Matrix, parts: int, order: str, heads: int | str) -> Matrix:
    if isinstance(item, str):
        return Matrix(item, parts, order, heads)
    return Matrix(item.name, item.parts, item.order, item.heads or heads)


def _several(name: str) -> str:
    return f"{name} holds {' and '.join(parts_named(name))} by its name, and nothing says how their rows lie"


def _how_to_say(name: str, parts: int) -> str:
    return (
        f'say fused("{name}", {parts}) where all of one comes before the next, '
        f'or fused("{name}", {parts}, "head part row", heads=…) where they alternate head by head'
    )


def unclear(rule: Rule, sizes: Mapping[str, int]) -> str:
    """Say what a rule leaves open once sizes are known: unequal matrices may be unequal parts, or hold several."""
    for side in (rule.gold, rule.theirs):
        nameless = [item for item in side if item.parts == 1 and not parts_named(item.name)]
        if len(side) > 1 and nameless and not rule.counted and len({sizes[item.name] for item in side}) > 1:
            largest = max(nameless, key=lambda item: sizes[item.name]).name
            listed = ", ".join(f"{item.name} {sizes[item.name]}" for item in side)
            return (
                f"the adapter's rule {rule.words} leaves open how rows lie (of {listed}): {_how_to_say(largest, 2)}, "
                f"or parts={rule.parts} where each is one part"
            )
    return ""


@functools.lru_cache(maxsize=4096)
def parts_named(name: str) -> str:
    """Return which of q, k and v a weight holds by its name: the last component that names any of them decides."""
    for component in reversed(name.split(".")):
        words = re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", component).lower())
        found = "".join(letter for word in words for letter in _held_by(word))
        if found:
            return "".join(dict.fromkeys(found))
    return ""


def without_parts(name: str) -> str:
    """Return a name with a star for what says which of q, k and v it holds: `attn.q_norm` as `attn.*_norm`, which is
    another group than `attn.*_proj`."""
    components = name.split(".")
    for at in range(len(components) - 1, -1, -1):
        if parts_named(components[at]):
            words = re.split(r"([a-z]+|[A-Z][a-z]*)", components[at])
            components[at] = "".join("*" if _held_by(word.lower()) else word for word in words)
            break
    return ".".join(components)


def _held_by(word: str) -> str:
    short = _LETTERS.fullmatch(word)
    return short[1] if short else _WORDS.get(word, "")


def no_counterpart(*, gold: str = "", theirs: str = "", reason: str) -> None:
    """Declare weights that rightly exist on one side only: they are neither placed nor compared."""
    if bool(gold) == bool(theirs) or not reason.strip():
        raise BadRule("no_counterpart takes gold= or theirs=, and a reason")
    (_current.without_gold if gold else _current.without_theirs)[gold or theirs] = reason


@contextlib.contextmanager
def layout(name: str) -> Iterator[None]:
    """Declare the rules in this block as a named alternative, tried when a submission does not agree without them."""
    global _layout
    _layout, before = name, _layout
    _current.layouts.setdefault(name, [])
    try:
        yield
    finally:
        _layout = before


def part(name: str) -> Callable[[F], F]:
    """Decorate a replacement for `module.name` in the recipe; it gets theirs first, then the recipe's arguments."""

    def keep(function: F) -> F:
        if name.count(".") < 1:
            raise BadRule(f"{name!r} must name a module and a part of it, such as backbone.train_epoch")
        _current.parts[name] = function
        return function

    return keep


def call(class_name: str) -> Callable[[F], F]:
    """Decorate how a model of class `class_name` is called; it gets theirs first, then the recipe's arguments."""

    def keep(function: F) -> F:
        _current.calls[class_name] = function
        return function

    return keep


def _add(rule: Rule) -> None:
    if isinstance(rule.axes, str):
        if rule.transpose:
            raise BadRule(f"{rule.words}: axes say all of it, leave out transpose")
        try:
            read_axes(rule.axes)
        except ValueError as problem:
            raise BadRule(f"{rule.words}: {problem}") from None
    stars = [_stars(item.name) for item in (*rule.gold, *rule.theirs)]
    if any(item != stars[0] for item in stars):
        raise BadRule(f"{rule.words}: every pattern needs the same stars in the same order")
    counts = [[item.name.count(INDEX) for item in side] for side in (rule.gold, rule.theirs)]
    if any(counts[0]) or any(counts[1]):
        if sorted(set(side) == {1} for side in counts) != [False, True] or not all(
            set(side) in ({0}, {1}) for side in counts
        ):
            raise BadRule(f"{rule.words}: # stands once in every name of one side, and in none of the other")
        rule = replace(rule, indexed="gold" if any(counts[0]) else "theirs")
    (_current.rules if _layout is None else _current.layouts[_layout]).append(rule)


# --- patterns -----------------------------------------------------------------------------------------------------


def match(pattern: str, name: str) -> tuple[str, ...] | None:
    """Return what the stars of `pattern` match in `name`, None if it does not match."""
    found = re.fullmatch(_expression(pattern), name)
    return tuple(item or "" for item in found.groups()) if found else None


def fill(pattern: str, stars: Sequence[str]) -> str:
    """Return `pattern` with its stars filled in; a `**` that matched nothing is removed together with its dot."""
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

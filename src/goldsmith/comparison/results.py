"""Results of a comparison, leaf by leaf, as plain data for reports and machines, and their description in words."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from goldsmith.foundation.nested import map_tree

Problem = Literal["", "values", "nan", "inf", "shape", "dtype", "missing", "extra", "type"]
Number = bool | int | float | str | None
SKETCHED = "sketched"
"""The tolerance of a leaf that was compared with a sketch: only its distance as a whole is known, by estimate."""
TEXTS = ("str", "bytes")
"""The dtypes of leaves that are not numbers."""
_SHOWN = 20
_ALL_DIGITS = 17


class LeafComparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One leaf of gold compared with what stands in its place.

    `problem` is the most serious problem, "" if there is none. `excess` is the share of the tolerance that is used up:
    at most 1 exactly if the leaf agrees. Gaps and sizes are over elements that are finite on both sides. `index`,
    `actual` and `gold` belong to the largest gap, or to the first new NaN or infinity; in text and bytes, to the first
    difference, from which on the values are quoted. `mismatched` counts elements beyond their own limit; it can be 0 if
    only the distance as a whole (l2) is too large. What is None was not computed: leaves that agree stay cheap.
    """

    path: str
    """Where it sits, such as `output.logits`."""
    agrees: bool
    """Whether it is within its tolerance."""
    problem: Problem = ""
    """The gravest of what is wrong; empty if nothing is."""
    identical: bool = False
    """Whether it is the same to the last bit."""
    actual_dtype: str = ""
    """The dtype that came out."""
    gold_dtype: str = ""
    """Gold's dtype."""
    actual_shape: tuple[int, ...] = ()
    """The shape that came out."""
    gold_shape: tuple[int, ...] = ()
    """Gold's shape."""
    elements: int = 0
    """How many elements were compared."""
    mismatched: int = 0
    """How many are beyond their own limit; 0 also where only the distance as a whole is too large."""
    excess: float = 0.0
    """The share of the tolerance that is used up; at most 1 exactly if it agrees."""
    tolerance: str = ""
    """The tolerance, in words."""
    largest_gap: Number = 0.0
    """The largest gap between two elements."""
    index: tuple[int, ...] | None = None
    """Where that is, or the first new NaN or infinity."""
    actual: Number = None
    """What came out there."""
    gold: Number = None
    """What gold has there."""
    rms_gap: float = 0.0
    """The root mean square of all gaps."""
    gold_rms: float | None = None
    """The root mean square of gold's elements."""
    relative: float = 0.0
    """The first over the second."""
    rtol_alone: float | None = None
    """The relative tolerance that would just pass, with atol 0."""
    atol_alone: float | None = None
    """The absolute tolerance that would just pass, with rtol 0."""
    ulps: int | None = None
    """The largest gap in units in the last place."""
    cosine: float | None = None
    """The cosine of the angle between the two."""
    nan_actual: int = 0
    """How many NaN came out."""
    nan_gold: int = 0
    """How many NaN gold has."""
    inf_actual: int = 0
    """How many infinities came out."""
    inf_gold: int = 0
    """How many infinities gold has."""
    where: str = ""
    """Where differences lie, in words."""
    guess: str = ""
    """What it looks like, such as a transpose or a factor; checked, not guessed."""
    notes: tuple[str, ...] = ()
    """Harmless differences."""

    @property
    def name(self) -> str:
        return self.path or "value"

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON can hold it: what is not finite becomes "inf", "-inf" or "nan"."""
        found: dict[str, Any] = map_tree(_finite, msgspec.to_builtins(self))
        return found

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {_sentence(self)}", *(f"    {line}" for line in _lines(self))])


class Comparison(msgspec.Struct, frozen=True):
    """The results for every leaf of two nested values. True exactly if there is a leaf and all agree."""

    leaves: tuple[LeafComparison, ...]

    @property
    def agrees(self) -> bool:
        return bool(self.leaves) and all(leaf.agrees for leaf in self.leaves)

    @property
    def differing(self) -> tuple[LeafComparison, ...]:
        return tuple(leaf for leaf in self.leaves if not leaf.agrees)

    @property
    def worst(self) -> LeafComparison | None:
        """Return the leaf that uses up most of its tolerance."""
        return max(self.leaves, key=lambda leaf: (not leaf.agrees, leaf.excess), default=None)

    def __bool__(self) -> bool:
        return self.agrees

    def plain(self) -> dict[str, Any]:
        """Return the results as JSON can hold them."""
        return {"agrees": self.agrees, "leaves": [leaf.plain() for leaf in self.leaves]}

    def __str__(self) -> str:
        if not self.leaves:
            return "differs: there was nothing to compare"
        differing = self.differing
        if not differing:
            return _agreement(self.leaves)
        lines = [f"differs: {len(differing)} of {_leaves(len(self.leaves))}"]
        for leaf in differing[:_SHOWN]:
            lines += [f"  {line}" for line in str(leaf).splitlines()]
        if len(differing) > _SHOWN:
            lines.append(f"  and {len(differing) - _SHOWN} more")
        return "\n".join(lines)


def _leaves(count: int) -> str:
    return f"{count} leaf" if count == 1 else f"{count} leaves"


def _agreement(leaves: tuple[LeafComparison, ...]) -> str:
    identical = sum(leaf.identical for leaf in leaves)
    if identical == len(leaves):
        return f"agrees: {_leaves(len(leaves))}, identical to the last bit"
    worst = max(leaves, key=lambda leaf: leaf.excess)
    used = f"{worst.name} uses {worst.excess:.1%} of its tolerance, the most"
    return f"agrees: {_leaves(len(leaves))}, {identical} identical to the last bit; {used}"


def _sentence(leaf: LeafComparison) -> str:
    """Say what is wrong with a leaf, or how well it agrees."""
    match leaf.problem:
        case "missing":
            return f"is missing; gold has {_form(leaf.gold_dtype, leaf.gold_shape)}"
        case "extra":
            return f"is not in gold; actual has {_form(leaf.actual_dtype, leaf.actual_shape)}"
        case "type":
            return f"is {leaf.actual_dtype}, gold is {leaf.gold_dtype}"
        case "shape":
            return f"has shape {list(leaf.actual_shape)}, gold has {list(leaf.gold_shape)}"
        case "dtype":
            return f"is {leaf.actual_dtype}, gold is {leaf.gold_dtype}; its values are within tolerance"
        case "nan" | "inf":
            if str(leaf.actual) == str(leaf.gold) == "nan":
                return f"NaN in both, which equal_nan=True accepts, {_place(leaf)}{_counts(leaf)}"
            kind = "NaN" if leaf.problem == "nan" else "infinity"
            return f"{kind} where gold has none, or the other way round, {_place(leaf)}{_counts(leaf)}"
        case "values":
            return _values(leaf)
    return "identical" if leaf.identical else f"uses {leaf.excess:.1%} of its tolerance"


def _values(leaf: LeafComparison) -> str:
    if leaf.tolerance == SKETCHED:
        return f"about {leaf.relative:.2g} of its size off, {leaf.excess:.3g} x its tolerance, by a sketch"
    if not leaf.mismatched and leaf.elements:
        return f"no element is beyond its limit, the tensor as a whole is: {leaf.excess:.3g} x its tolerance"
    if leaf.gold_dtype in TEXTS and leaf.where:
        return f"first differs at {leaf.where}: {leaf.actual}, gold has {leaf.gold}"
    if leaf.elements <= 1:
        return f"is {leaf.actual}, gold is {leaf.gold}"
    if leaf.largest_gap is None:
        return f"{leaf.mismatched} of {leaf.elements} elements differ, the first {_place(leaf)}"
    times = f", by up to {leaf.excess:.3g} x" if math.isfinite(leaf.excess) else ""
    gap = f"largest gap {_shown(leaf.largest_gap)} {_place(leaf)}"
    return f"{leaf.mismatched} of {leaf.elements} elements out of tolerance{times}; {gap}{_counts(leaf)}"


def _place(leaf: LeafComparison) -> str:
    index = "" if leaf.index is None else f"at {list(leaf.index)} "
    actual, gold = shown_numbers(leaf.actual, leaf.gold)
    return f"{index}(actual {actual}, gold {gold})"


def _counts(leaf: LeafComparison) -> str:
    pairs = (("NaN", leaf.nan_actual, leaf.nan_gold), ("infinite", leaf.inf_actual, leaf.inf_gold))
    found = [f"{name}: {actual} in actual, {gold} in gold" for name, actual, gold in pairs if actual or gold]
    return "; " + "; ".join(found) if found else ""


def _lines(leaf: LeafComparison) -> list[str]:
    lines = [f"where: {leaf.where}"] if leaf.where and leaf.gold_dtype not in TEXTS else []
    if leaf.guess:
        lines.append(f"guess: {leaf.guess}")
    if leaf.atol_alone is not None and leaf.rtol_alone is not None and leaf.elements > 1:
        sizes = [f"relative gap {leaf.relative:.3g}"]
        if leaf.cosine is not None:
            sizes.append(f"cosine {leaf.cosine:.6g}")
        if leaf.ulps is not None:
            sizes.append(f"up to {leaf.ulps} ulps")
        alone = [
            f"{name} {value:.6g}"
            for name, value in (("atol", leaf.atol_alone), ("rtol", leaf.rtol_alone))
            if math.isfinite(value)
        ]
        passes = f"; would pass with {' or '.join(alone)} alone" if alone else ""
        lines.append(", ".join(sizes) + passes)
    return lines + [f"note: {note}" for note in leaf.notes]


def _form(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype} {list(shape)}" if shape else dtype


def shown_numbers(one: Number, two: Number, digits: int = 9) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart, and at least `digits`."""
    found = _shown(one, digits), _shown(two, digits)
    while found[0] == found[1] and one != two and digits < _ALL_DIGITS:
        digits += 1
        found = _shown(one, digits), _shown(two, digits)
    return found


def _shown(value: Number, digits: int = 9) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _finite(leaf: Any) -> Any:
    return str(leaf) if isinstance(leaf, float) and not math.isfinite(leaf) else leaf

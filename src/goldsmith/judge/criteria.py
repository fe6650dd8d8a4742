"""The criteria that a case is judged by, computed once for all of its runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.comparison.against_gold import compare_case, tolerances_of
from goldsmith.comparison.api import compare
from goldsmith.comparison.results import Comparison, LeafComparison
from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import difference_of, is_array, is_inexact, judged_part, leaf_facts, numbers_of
from goldsmith.gold.precision import is_float64
from goldsmith.gold.sizes import common_factor
from goldsmith.gold.tolerances import Tolerance, factor_ratio
from goldsmith.judge.decision import coarsest_dtype, sharper, shown_path
from goldsmith.judge.follows_dtype import inner_dtypes
from goldsmith.judge.verdicts import DIFFERS, CaseVerdict
from goldsmith.runs.conditions import OWN
from goldsmith.runs.run import Run

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.gold.rulers import Ruler

MayBeMissing = Callable[[str, Any], bool]
"""Returns whether a weight may be missing, by its name and the value that gold has recorded."""


@dataclass
class Criteria:
    """The gold of a case, or of one of the `variants` that it accepts, in the form that judging needs."""

    gold: GoldCase
    may_be_missing: MayBeMissing
    overwriting_differs: bool = False
    ruler: Ruler | None = None
    """That of the setting that runs are in; None in gold's own, and where none was measured."""
    _compared: dict[str, tuple[Sequence[Run], bool, Comparison]] = field(default_factory=dict)

    @cached_property
    def expected(self) -> Mapping[str, Any]:
        """Return every recorded leaf by path."""
        return judged_part(self.gold.data)

    @cached_property
    def tolerances(self) -> Mapping[str, Tolerance]:
        return {**self._own_tolerances, **self.limits}

    @cached_property
    def _own_tolerances(self) -> Mapping[str, Tolerance]:
        return tolerances_of(self.gold)

    @cached_property
    def limits(self) -> Mapping[str, Tolerance]:
        """Return the limits of the ruler, by path."""
        return self.ruler.cases.get(self._name, {}) if self.ruler else {}

    @cached_property
    def unjudged(self) -> Mapping[str, str]:
        """Return why nothing can be judged by some leaves in the setting, by path."""
        return self.ruler.unjudged.get(self._name, {}) if self.ruler else {}

    @property
    def is_ruled(self) -> bool:
        """Say whether the setting's ruler knows the case."""
        return self.ruler is not None and self._name in self.ruler.cases

    @property
    def can_be_judged(self) -> bool:
        """Say whether there is anything to judge by: gold's own tolerances say nothing about coarser numbers."""
        return self.is_ruled or not self.rounded_to

    def why_unjudged(self, paths: Collection[str]) -> str:
        """Say why nothing can be judged by these leaves in the setting; empty if something can be."""
        there = self.ruler.setting.name if self.ruler else ""
        if not self.can_be_judged:
            why = (
                f"the ruler for {there} does not have this case: the solution fails there, or was recorded again since"
            )
            return f"{why}: run goldsmith calibrate again"
        path = next(iter(paths), "")
        if not paths or any(item not in self.unjudged for item in paths):
            return ""
        return f"{shown_path(path)} is not judged in {there}: {self.unjudged[path]}"

    @property
    def _name(self) -> str:
        """Return the case's name; that of a variant's is the case that accepts it."""
        return self.gold.name.removesuffix(f".{self.gold.entry.variant}") if self.gold.entry.variant else self.gold.name

    @cached_property
    def dtype(self) -> str:
        """Return the dtype that the setting asks for; empty where runs have their own."""
        return "" if self.ruler is None or self.ruler.setting.dtype == OWN else self.ruler.setting.dtype

    @property
    def rounded_to(self) -> str:
        """Return the dtype that the setting rounds to where that is not gold's own: "tf32" of products alone."""
        return self.dtype or ("tf32" if self.ruler is not None and self.ruler.setting.tf32 else "")

    def compare_plain(
        self, actual: Mapping[str, Any], expected: Mapping[str, Any], guessing: bool, made: Collection[str]
    ) -> Comparison:
        """Compare a run with gold: by its tolerances, or by the setting's ruler, whose limits are distances from gold's
        float64 reference, where it has one."""
        if not self.is_ruled:
            return compare_case(actual, expected, self.gold, guessing=guessing, made=made)
        reference = self.gold.reference or {}
        right = {path: reference.get(path, value) if path in self.limits else value for path, value in expected.items()}
        return self._by_ruler(actual, right, [path for path in expected if self.gold.allows_nan(path)], guessing)

    def compare_again(self, second: Mapping[str, Any], first: Mapping[str, Any]) -> Comparison:
        """Compare two runs of the same code."""
        if not self.is_ruled:
            return compare_case(second, first, self.gold, equal_nan=True, guessing=False)
        return self._by_ruler(second, first, True, guessing=False)

    def own_dtype(self, natural: Comparison) -> str:
        """Return the dtype that a case was computed in: the setting's, or gold's own."""
        own = {item.path: item.dtype for item in self.gold.entry.tensors} if self.is_ruled else {}
        leaves = (msgspec.structs.replace(it, gold_dtype=own.get(it.path, it.gold_dtype)) for it in natural.leaves)
        return self.dtype or coarsest_dtype(Comparison(tuple(leaves)))

    def inner_dtypes(self, dtype: str) -> tuple[str, ...]:
        """Return what code may round to inside whose own dtype is this one."""
        return inner_dtypes(dtype, tf32=self.ruler is not None and self.ruler.setting.tf32)

    def with_ratio(self, verdict: CaseVerdict) -> CaseVerdict:
        """Say how far off a case is in the setting, and how far the solution itself is."""
        worst = max((leaf for leaf in verdict.natural if not leaf.agrees), key=lambda leaf: leaf.excess, default=None)
        seen = self.limits[worst.path].noise if worst and worst.path in self.limits else None
        if (
            self.ruler is None
            or verdict.outcome != DIFFERS
            or worst is None
            or seen is None
            or worst.problem != "values"
        ):
            return verdict
        there = f"in {self.ruler.setting.name}, where the solution itself is off by {seen.l2:.1e} of its size"
        return msgspec.structs.replace(verdict, reason=f"{verdict.reason}: {worst.excess:.2g} times the limit {there}")

    def _by_ruler(
        self, actual: Mapping[str, Any], right: Mapping[str, Any], equal_nan: bool | Sequence[str], guessing: bool
    ) -> Comparison:
        """Compare numbers, whatever dtype the setting has made of them; leaves that are not judged must be there."""
        inexact = {path for path, value in right.items() if _is_inexact(value)}

        def numbers(values: Mapping[str, Any]) -> dict[str, Any]:
            return {path: numbers_of(it) if path in inexact and _is_number(it) else it for path, it in values.items()}

        found, gold = numbers(actual), numbers(right)
        for path in self.unjudged:  # it must be there, whatever its numbers
            if path in found and path in gold and _shape(found[path]) == _shape(gold[path]):
                found[path] = gold[path]
        marks = {
            path: item for path, item in self.gold.noisy.items() if path in gold and item.shape == _shape(gold[path])
        }
        compared = compare(
            found,
            gold,
            tolerances=self.tolerances,
            noisy=marks,
            equal_nan=equal_nan,
            check_dtype=[],
            guessing=guessing,
        )
        leaves = tuple(self._with_factor(leaf, found, gold, marks) for leaf in compared.leaves)
        return msgspec.structs.replace(compared, leaves=leaves)

    def _with_factor(
        self, leaf: LeafComparison, found: Mapping[str, Any], gold: Mapping[str, Any], marks: Mapping[str, Any]
    ) -> LeafComparison:
        """Have a leaf differ whose numbers are near enough one by one, and all off by a larger factor than rounding."""
        limit = self.limits.get(leaf.path)
        if limit is None or limit.factor is None or not leaf.agrees or leaf.path in self.unjudged:
            return leaf
        import numpy as np

        right = numbers_of(gold[leaf.path])
        gap = difference_of(numbers_of(found[leaf.path]), right)
        counted = np.isfinite(gap) & np.isfinite(right) & ~marks.get(leaf.path, np.False_)
        share = factor_ratio(limit, gap[counted], right[counted])
        if share <= 1:
            return leaf
        guess = f"all of it is {1 + common_factor(gap[counted], right[counted]):.3g} times as large"
        return msgspec.structs.replace(leaf, agrees=False, problem="values", excess=share, guess=guess)

    @cached_property
    def sharp_tolerances(self) -> Mapping[str, Tolerance]:
        """Return what a run in float64 is judged by."""
        dtypes = {item.path: item.dtype for item in self.gold.entry.tensors}
        return {path: sharper(item, dtypes[path]) for path, item in self._own_tolerances.items()}

    @cached_property
    def float64_paths(self) -> list[str]:
        """List the leaves that a run in float64 is judged by: those that the solution computed in it."""
        inexact = {path for path, tolerance in self._own_tolerances.items() if tolerance.kind != "exact"}
        return [path for path in self.gold.reference or () if path in inexact and not self._is_unmoved(path)]

    def _is_unmoved(self, path: str) -> bool:
        """Say whether gold of before noticed neither that no noise moved a leaf nor that float64 made it no finer."""
        noise, reference = self._own_tolerances[path].noise, self.gold.reference
        return noise is not None and noise.max == 0 and reference is not None and not is_float64(reference[path])

    @cached_property
    def optional(self) -> set[str]:
        """Return the paths of recorded weights that another implementation need not have, where they are recorded by
        name among others. A table that is a record by itself, or among other values, must be there."""
        found: set[str] = set()
        for names in self._weight_records:
            free = {path for path, name in names.items() if self.may_be_missing(name, self.expected[path])}
            found |= free if len(free) < len(names) else set()
        return found

    @cached_property
    def weight_like(self) -> set[str]:
        """Return the paths of what is recorded by the names of weights: weights themselves, or their gradients."""
        return {path for names in self._weight_records for path in names}

    @cached_property
    def _weight_records(self) -> list[dict[str, str]]:
        """List the records of which all items are named after weights: the names by path."""
        entry = self.gold.entry
        known = {name for weights in self.gold.initial_weights.values() for name, _ in walk(weights)}
        known |= {name for facts in entry.weights.values() for name in (*facts.buffers, *facts.withheld)}
        records: dict[str, dict[str, str]] = {}
        for path in self.expected:
            records.setdefault(entry.item_path(path), {})[path] = entry.path_in_item(path)
        return [names for names in records.values() if known.issuperset(names.values())]

    @cached_property
    def variants(self) -> dict[str, Criteria]:
        """Return the criteria of every accepted answer by variant name; the solution's own is `""`."""
        others = {
            name: Criteria(gold, self.may_be_missing, self.overwriting_differs, self.ruler)
            for name, gold in self.gold.variants.items()
        }
        return {"": self, **others}

    def compare_once(
        self, name: str, runs: Sequence[Run], guessing: bool, compute: Callable[[], Comparison]
    ) -> Comparison:
        """Compare what `runs` recorded, or return the cached comparison: a case is judged again after each further
        run, and most of its runs are the same. Where all agrees there is nothing to guess at."""
        if name in self._compared:
            known, guessed, comparison = self._compared[name]
            if all(map(operator.is_, known, runs)) and (guessed or not guessing or comparison.agrees):
                return comparison
        comparison = compute()
        self._compared[name] = (runs, guessing, comparison)
        return comparison


def same_bits(one: Any, two: Any) -> bool:
    return leaf_facts("", one).sha256 == leaf_facts("", two).sha256


def are_the_same(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Return whether two sets of leaves are certainly identical to the last bit."""
    return one.keys() == two.keys() and all(_is_the_same(item, two[path]) for path, item in one.items())


def _is_the_same(one: Any, two: Any) -> bool:
    import numpy as np

    if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
        return type(one) in (bool, int, str) and type(one) is type(two) and bool(one == two)
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


def _is_inexact(value: Any) -> bool:
    return isinstance(value, float) or (is_array(value) and is_inexact(value))


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _is_number(value: Any) -> bool:
    return hasattr(value, "shape") or (isinstance(value, int | float) and not isinstance(value, bool))

"""The criteria that a case is judged by, computed once for all of its runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from goldsmith.comparison.against_gold import tolerances_of
from goldsmith.comparison.results import Comparison
from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import judged_part, leaf_facts
from goldsmith.gold.precision import is_float64
from goldsmith.gold.tolerances import Tolerance
from goldsmith.judge.decision import sharper
from goldsmith.runs.run import Run

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase

MayBeMissing = Callable[[str, Any], bool]
"""Returns whether a weight may be missing, by its name and the value that gold has recorded."""


@dataclass
class Criteria:
    """The gold of a case, or of one of the `variants` that it accepts, in the form that judging needs."""

    gold: GoldCase
    may_be_missing: MayBeMissing
    overwriting_differs: bool = False
    _compared: dict[str, tuple[Sequence[Run], bool, Comparison]] = field(default_factory=dict)

    @cached_property
    def expected(self) -> Mapping[str, Any]:
        """Return every recorded leaf by path."""
        return judged_part(self.gold.data)

    @cached_property
    def tolerances(self) -> Mapping[str, Tolerance]:
        return tolerances_of(self.gold)

    @cached_property
    def sharp_tolerances(self) -> Mapping[str, Tolerance]:
        """Return what a run in float64 is judged by."""
        dtypes = {item.path: item.dtype for item in self.gold.entry.tensors}
        return {path: sharper(item, dtypes[path]) for path, item in self.tolerances.items()}

    @cached_property
    def float64_paths(self) -> list[str]:
        """List the leaves that a run in float64 is judged by: those that the solution computed in it."""
        inexact = {path for path, tolerance in self.tolerances.items() if tolerance.kind != "exact"}
        return [path for path in self.gold.reference or () if path in inexact and not self._is_unmoved(path)]

    def _is_unmoved(self, path: str) -> bool:
        """Say whether gold of before noticed neither that no noise moved a leaf nor that float64 made it no finer."""
        noise, reference = self.tolerances[path].noise, self.gold.reference
        return noise is not None and noise.max == 0 and reference is not None and not is_float64(reference[path])

    @cached_property
    def optional(self) -> set[str]:
        """Return the paths of recorded weights that another implementation need not have, where they are recorded by
        name among others. A table that is a record by itself, or among other values, must be there."""
        entry = self.gold.entry
        known = {name for weights in self.gold.initial_weights.values() for name, _ in walk(weights)}
        known |= {name for facts in entry.weights.values() for name in (*facts.buffers, *facts.withheld)}
        records: dict[str, dict[str, str]] = {}
        for path in self.expected:
            records.setdefault(entry.item_path(path), {})[path] = entry.path_in_item(path)
        found: set[str] = set()
        for names in records.values():
            free = {path for path, name in names.items() if self.may_be_missing(name, self.expected[path])}
            found |= free if len(free) < len(names) and known.issuperset(names.values()) else set()
        return found

    @cached_property
    def variants(self) -> dict[str, Criteria]:
        """Return the criteria of every accepted answer by variant name; the solution's own is `""`."""
        others = {
            name: Criteria(gold, self.may_be_missing, self.overwriting_differs)
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

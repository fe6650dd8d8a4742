"""Reuse of gold's inputs and initial weights where a recipe is recorded again.

Numbers drawn from one seed differ between instruction sets and versions, so on another machine every case would change.
The recipe still draws its own, for their form and to see whether the code that draws them has changed; then the
recorded numbers replace them, unless they no longer fit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import array_hash, dtype_name, is_array, numbers_of
from goldsmith.gold.facts import Environment, same_environment
from goldsmith.gold.files import read_payload
from goldsmith.gold.sizes import root_mean_square
from goldsmith.process.messages import Draws
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.models import WeightAccess
from goldsmith.weights.transplant import CannotPlace
from goldsmith.weights.values import snapshot

CLOSE = 1e-5
"""Relative rounding error of the same draw on another machine: 2e-6 of the root mean square was the most that was
seen."""
DEVIATIONS = 6.0
"""How many standard deviations the mean and the spread of two draws from one distribution may be apart."""
SEPARATION = 2.5
"""The Kolmogorov-Smirnov distance of two such draws, divided by sqrt(2 / n), exceeds this once in 130,000 times."""


class RecordedDraws:
    """The recorded inputs and weights of one case, and which of them could not be reused."""

    def __init__(self, draws: Draws, environment: Environment) -> None:
        facts = {name: msgspec.structs.replace(item, withheld=()) for name, item in draws.kept.weights.items()}
        kept = msgspec.structs.replace(draws.kept, weights=facts)  # from submissions, not from the solution
        self._given = GoldInputs.from_payload(read_payload(Path(kept.file), mapped=True), kept)
        self._buffers = {name: set(facts.buffers) for name, facts in kept.weights.items()}
        self._same_sources, self._other_reads = draws.same_sources, draws.other_reads
        self._same_machine = same_environment(draws.environment, environment)
        self._digest = hashlib.sha256()
        self.redrawn: dict[str, str] = {}
        """What was not taken from the gold, and why."""

    def input(self, name: str, made: Any) -> Any:
        """Return the recorded input in the form of `made`, or `made` itself."""
        fresh = snapshot(made, f"input {name!r}")
        self._note(name, fresh)
        if not self._uses(f"input {name}", fresh, self._given.inputs.get(name), frozenset()):
            return made
        return self._given.input(name, made)

    def weights(
        self,
        name: str,
        model: Any,
        fresh: Mapping[str, Any],
        rebuild: Callable[[], Any],
        access: WeightAccess | None = None,
    ) -> Any:
        """Return `model`, whose own weights are `fresh`, with the recorded weights of `name`."""
        self._note(name, fresh)
        computed = frozenset(self._buffers.get(name, ()))
        if self._uses(f"weights of {name}", fresh, self._given.weights.get(name), computed):
            try:
                return self._given.load_weights(name, model, {}, rebuild, access).model
            except CannotPlace as problem:
                self._redraw(f"weights of {name}", str(problem))
        return model

    def drawn(self) -> str:
        """Return the hash of all that was drawn here, used or not: two runs must draw the same."""
        return self._digest.hexdigest()

    def _note(self, name: str, fresh: Any) -> None:
        for path, leaf in walk(fresh, name):
            self._digest.update(f"{path}={array_hash(leaf) if is_array(leaf) else repr(leaf)};".encode())

    def _uses(self, what: str, fresh: Any, kept: Any, computed: frozenset[str]) -> bool:
        """Say whether recorded numbers replace `fresh` ones. Values that are `computed`, not drawn, are ignored."""
        mine, theirs = dict(walk(fresh)), dict(walk(kept))
        problem = "the gold keeps none" if kept is None and fresh is not None else _misfit(mine, theirs)
        if problem:
            self._redraw(what, problem)
            return False
        drawn = [path for path in mine if path not in computed]
        unequal = [path for path in drawn if not _are_equal(mine[path], theirs[path])]
        if not unequal:
            return False
        far = [path for path in unequal if not _is_close(mine[path], theirs[path])]
        if (self._same_machine and (far or not self._same_sources)) or (far and self._other_reads):
            self._redraw(what, "something that they are drawn by or read from has changed")
            return False
        strange = [path for path in far if not _is_alike(mine[path], theirs[path])]
        if strange:
            self._redraw(what, f"{strange[0].removeprefix('.') or 'it'} is drawn from another distribution now")
            return False
        return True

    def _redraw(self, what: str, why: str) -> None:
        self.redrawn[what] = why


def _misfit(fresh: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    """Return why recorded values cannot replace those made here; "" where they can."""
    if fresh.keys() != kept.keys():
        odd = sorted(fresh.keys() ^ kept.keys())[0]
        return f"the gold has other ones ({odd or 'their form'} differs)"
    for path, mine in fresh.items():
        theirs, name = kept[path], path or "it"
        if is_array(mine) != is_array(theirs):
            return f"{name} is of another kind in the gold"
        if is_array(mine) and tuple(mine.shape) != tuple(theirs.shape):
            return f"{name} has shape {_shape(mine)} now, {_shape(theirs)} in the gold"
        if is_array(mine) and dtype_name(mine) != dtype_name(theirs):
            return f"{name} is {dtype_name(mine)} now, {dtype_name(theirs)} in the gold"
        if not is_array(mine) and type(mine) is not type(theirs):
            return f"{name} is of another type in the gold"
    return ""


def _shape(array: Any) -> list[int]:
    return [int(size) for size in array.shape]


def _are_equal(mine: Any, theirs: Any) -> bool:
    if is_array(mine):
        return array_hash(mine) == array_hash(theirs)
    return bool(mine == theirs) or (mine != mine and theirs != theirs)


def _is_close(mine: Any, theirs: Any) -> bool:
    """Say whether two arrays are the same numbers except for rounding."""
    if not _are_numbers(mine):
        return False
    one, two = numbers_of(mine), numbers_of(theirs)
    with np.errstate(invalid="ignore"):
        gap = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
    size = root_mean_square(two[np.isfinite(two)])
    return bool(np.isfinite(gap).all() and gap.max(initial=0.0) <= CLOSE * size)


def _is_alike(mine: Any, theirs: Any) -> bool:
    """Say whether numbers could come from the same distribution, by mean, spread and Kolmogorov-Smirnov distance."""
    if not _are_numbers(mine):
        return False
    one, two = numbers_of(mine).reshape(-1), numbers_of(theirs).reshape(-1)
    if not (np.isfinite(one).all() and np.isfinite(two).all()) or not one.size:
        return False
    spread = math.sqrt((float(np.var(one)) + float(np.var(two))) / 2)
    margin = DEVIATIONS / math.sqrt(one.size)
    if abs(float(one.mean() - two.mean())) > margin * spread * math.sqrt(2):
        return False
    if abs(float(np.std(one) - np.std(two))) > margin * spread:
        return False
    both = np.sort(np.concatenate([one, two]))
    below = [np.searchsorted(np.sort(item), both, side="right") / item.size for item in (one, two)]
    return float(np.abs(below[0] - below[1]).max()) <= SEPARATION * math.sqrt(2 / one.size)


def _are_numbers(value: Any) -> bool:
    return is_array(value) or (isinstance(value, int | float) and not isinstance(value, bool))

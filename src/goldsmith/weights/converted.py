"""A model of any library with weights in it that a function converts: from the reference's to the candidate's.

Where the function only moves numbers, what it does with numbered places shows which number goes where: gradients and
trained weights can then be brought back, and modules be paired.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from goldsmith.foundation.wording import some_of
from goldsmith.frameworks.framework import are_equal, arrays_of
from goldsmith.gold.arrays import dtype_name, is_array, numbers_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.weights.leaves import running_statistics
from goldsmith.weights.loaded import CannotConvert, Convert
from goldsmith.weights.matching import Match
from goldsmith.weights.placement import size_words

_LISTED = 6


class ConvertedModel:
    """A model with converted weights in it. How a library's model is read and written is said by a subclass."""

    model: Any

    def __init__(self, model: Any, kept: Mapping[str, Any], facts: WeightFacts, convert: Convert) -> None:
        self.model = model
        self.unplaced = None
        self.extra: tuple[str, ...] = ()
        self.notes: list[str] = []
        self._kept, self._convert = {name: self._own(value) for name, value in kept.items()}, convert
        self._sizes = {name: _size(item) for name, item in self._kept.items()}
        self._first = {name: names[0] for names in facts.tied for name in names[1:]}
        self._gold_buffers = set(facts.buffers)
        self._fill(self._converted(self._kept))
        self._sources = self._traced()
        """For each parameter, by name, which of all the reference's numbers it holds; empty if that is not known."""
        self.placed = tuple(self._matches())
        if not self._sources:
            self.notes.append("gradients are not compared: convert does more than move numbers")

    @property
    def is_opaque(self) -> bool:
        """Return whether it is not known which weights correspond."""
        return not self._sources

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace values, by the reference's names. `model` is the one with them."""
        if values:
            self._fill(self._converted({**self._kept, **{name: self._own(item) for name, item in values.items()}}))

    def weights(self) -> dict[str, Any]:
        """Return parameters under the reference's names."""
        return {name: item for name, item in self._brought_back(self._parameters(), add=False) if item is not None}

    def gradients(self) -> dict[str, Any]:
        """Return gradients under the reference's names."""
        return self.brought_back(self._gradients())

    def brought_back(self, gradients: Mapping[str, Any]) -> dict[str, Any]:
        """Return gradients by the candidate's names under the reference's, for tied parameters under the first only;
        those of numbers that the candidate holds several times are added."""
        found = self._brought_back(gradients, add=True)
        return {name: item for name, item in found if name not in self._first and name not in self._gold_buffers}

    # --- what a library says ------------------------------------------------------------------------------------------

    def _own(self, value: Any) -> Any:
        """Return a copy of a weight as an array of the candidate's library."""
        raise NotImplementedError

    def _every(self) -> dict[str, Any]:
        """Return parameters by all of their names, and buffers."""
        raise NotImplementedError

    def _buffers(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def _groups(self) -> dict[str, list[str]]:
        """Return the names of each parameter and statistic that must have a value."""
        raise NotImplementedError

    def _gradients(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def _write(self, values: Mapping[str, Any]) -> None:
        """Put values into the model, by its names."""
        raise NotImplementedError

    def _must_have(self, name: str) -> bool:
        buffers = self._buffers()
        return name not in buffers or name in running_statistics(buffers)

    # --- conversion ---------------------------------------------------------------------------------------------------

    def _converted(self, state: Mapping[str, Any]) -> dict[str, Any]:
        found = self._convert({name: arrays_of(value).copy(value) for name, value in state.items()})
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise CannotConvert(f"it returns {type(found).__name__}, not a dict of tensors by name")
        odd = next((name for name, value in found.items() if not is_array(value)), None)
        if odd is not None:
            raise CannotConvert(f"its {odd} is {type(found[odd]).__name__}, not a tensor")
        return {name: arrays_of(value).detached(value) for name, value in found.items()}

    def _fill(self, values: Mapping[str, Any]) -> None:
        groups = self._groups()
        given = {name: next((other for other in names if other in values), None) for name, names in groups.items()}
        missing = [name for name, other in given.items() if other is None]
        if missing:
            raise CannotConvert(f"it has no values for the candidate's {some_of(missing, _LISTED)}")
        targets = {name: item for name, item in self._every().items() if name in values}
        for name, item in targets.items():
            if tuple(item.shape) != tuple(values[name].shape):
                sizes = " and ".join(size_words(tuple(one.shape)) for one in (values[name], item))
                raise CannotConvert(f"its {name} has another size than the candidate's: {sizes}")
        for names in groups.values():
            both = [name for name in names if name in values]
            odd = next((name for name in both if not are_equal(values[name], values[both[0]])), None)
            if odd is not None:
                raise CannotConvert(f"its {both[0]} and {odd} differ, and are one weight in the candidate")
        strange = [name for name in values if name not in targets]
        if strange:
            self.notes = [f"convert also returns {some_of(strange, _LISTED)}, which the candidate does not have"]
        self._write({name: values[name] for name in targets})

    def _parameters(self) -> dict[str, Any]:
        every = self._every()
        return {name: every[name] for name in self._groups()}

    # --- which number goes where --------------------------------------------------------------------------------------

    def _traced(self) -> dict[str, Any]:
        """Return which of the reference's numbers each parameter holds. Places are numbered twice, upwards and
        downwards: a function that computes with them gives two answers."""
        try:
            up, down = (self._converted(self._numbered(downwards=downwards)) for downwards in (False, True))
        except Exception:  # a function that looks at numbers may refuse these
            return {}
        total = sum(self._sizes.values())
        found = {}
        for name, names in self._groups().items():
            given = next((item for item in names if item in up and item in down), None)
            if given is None or up[given].shape != self._every()[name].shape or "complex" in dtype_name(up[given]):
                return {}
            one, two = (numbers_of(side[given]).ravel() for side in (up, down))
            if not bool(((one + two == total - 1) & (one == one.round()) & (one >= 0) & (one < total)).all()):
                return {}
            found[name] = one.astype("int64")
        return found

    def _numbered(self, *, downwards: bool) -> dict[str, Any]:
        total = sum(self._sizes.values())
        found = {}
        for name, start, size in self._ranges():
            numbers = np.arange(start, start + size, dtype=np.float64)
            own, shaped = self._kept[name], (total - 1 - numbers if downwards else numbers)
            found[name] = arrays_of(own).like(shaped.reshape(tuple(own.shape)), own)
        return found

    def _ranges(self) -> Iterator[tuple[str, int, int]]:
        start = 0
        for name, size in self._sizes.items():
            yield name, start, size
            start += size

    def _matches(self) -> Iterator[Match]:
        """Yield weights that correspond: those that hold all numbers of one, then those that share some."""
        bounds = np.asarray([start for _, start, _ in self._ranges()] or [0])
        names = [name for name, _, _ in self._ranges()]
        groups: list[tuple[set[str], list[str]]] = []
        for theirs, numbers in self._sources.items():
            mine = {names[index] for index in np.unique(np.searchsorted(bounds, numbers, side="right") - 1).tolist()}
            if len(mine) == 1 and len(np.unique(numbers)) == self._sizes[next(iter(mine))]:
                yield Match((next(iter(mine)),), (theirs,))
                continue
            touching = [group for group in groups if group[0] & mine]
            groups = [group for group in groups if group not in touching]
            others = [name for group in touching for name in group[1]]
            groups.append((set().union(mine, *(group[0] for group in touching)), [*others, theirs]))
        for some, others in groups:
            yield Match(tuple(name for name in names if name in some), tuple(others))

    def _brought_back(self, values: Mapping[str, Any], *, add: bool) -> Iterator[tuple[str, Any]]:
        """Yield arrays by the reference's names, for those all of whose numbers the candidate holds."""
        given = {name: item for name, item in values.items() if item is not None and name in self._sources}
        total = sum(self._sizes.values())
        flat, held, filled = np.zeros(total), np.zeros(total, dtype=bool), np.zeros(total, dtype=bool)
        canonical = self._canonical(total)
        for name, numbers in self._sources.items():
            places = canonical[numbers]
            held[places] = True
            if name in given:
                filled[places] = True
                some = numbers_of(arrays_of(given[name]).detached(given[name])).ravel()
                if add:
                    np.add.at(flat, places, some)
                else:
                    flat[places] = some
        known = next(iter(given.values()), None)
        for name, start, size in self._ranges():
            places = canonical[start : start + size]
            if held[places].all():
                whole = flat[places].reshape(tuple(self._kept[name].shape))
                yield name, _as(whole, known) if known is not None and filled[places].any() else None

    def _canonical(self, total: int) -> Any:
        """Return the number of each place; places of tied weights have the numbers of the first."""
        found = np.arange(total)
        starts = {name: start for name, start, _ in self._ranges()}
        for name, start, size in self._ranges():
            if name in self._first and self._first[name] in starts:
                first = starts[self._first[name]]
                found[start : start + size] = np.arange(first, first + size)
        return found


def _as(numbers: Any, template: Any) -> Any:
    arrays = arrays_of(template)
    return arrays.cast(arrays.like(numbers, template), arrays.dtype(template))


def _size(item: Any) -> int:
    return math.prod(item.shape)

"""Loading weights into a model that is known by names and arrays alone, and that may be another object afterwards;
reading its weights under gold's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goldsmith.frameworks.framework import arrays_of, library_of, models_of
from goldsmith.gold.arrays import dtype_name, is_inexact, numbers_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.precision import is_exact
from goldsmith.runs.notes import Note
from goldsmith.weights.converted import ConvertedModel
from goldsmith.weights.leaves import running_statistics
from goldsmith.weights.planned import PlannedModel
from goldsmith.weights.transplant import CannotPlace

_NOT_CALLED = "It has weights from its first call on, and was not called"


class LoadedModule(PlannedModel):
    """A model with gold's weights in it: `model`. `rebuild` makes another one like it. One that is built in its first
    call gets them then: until then it `waits`."""

    def __init__(
        self, model: Any, kept: Mapping[str, Any], facts: WeightFacts, *, rebuild: Callable[[], Any], **options: Any
    ) -> None:
        super().__init__(model, {name: _array(model, value) for name, value in kept.items()}, facts, **options)
        self._rebuild, self._its = rebuild, WeightFacts()
        self.waits = self._models.unbuilt(model)
        if not self.waits:
            self._settle()
            return
        self.unplaced = CannotPlace({name: tuple(value.shape) for name, value in self._kept.items()}, {}, [_NOT_CALLED])
        self._models.when_built(model, self._settle_late)

    def _settle_late(self) -> None:
        self.waits = ""
        self._settle()
        self.unplaced = None
        self.notes.append(Note("late"))

    def _settle(self) -> None:
        """Find places for gold's weights, and put them there."""
        model, models = self.model, self._models
        own, self._its = models.weights(model), models.weight_facts(model)
        placed_under = self._names(own)
        parameters = {name: value for name, value in own.items() if placed_under.get(name) == name}
        aliases = {name: other for name, other in placed_under.items() if name != other}
        self._plan(
            {name: tuple(value.shape) for name, value in parameters.items()}, aliases, lambda: models.kinds(model)
        )
        values = dict(self._carried())
        buffers = {name: own[name] for name in self._its.buffers}
        values |= self._own_buffers(buffers, lambda: models.weights(self._rebuild()))
        self._put(values)
        stayed = [array for name, array in own.items() if not values.keys() & self._same(name)]
        self.rounded = any(map(_was_rounded, stayed))

    def weights(self, model: Any = None) -> dict[str, Any]:
        if self.waits:
            return dict(self._kept)
        return self._under_gold_names(self._models.weights(self.model if model is None else model))

    def gradients(self) -> dict[str, Any]:
        return self.brought_back(self._models.gradients(self.model))

    def frozen(self) -> set[str]:
        theirs = self._models.frozen(self.model)
        return {name for item in self._transplant.placed if theirs.issuperset(item.theirs) for name in item.gold}

    def put(self, values: Mapping[str, Any]) -> None:
        given = {name: _array(self.model, value) for name, value in values.items()}
        buffers = {name: value for name, value in given.items() if name in self._its.buffers}
        self._put(buffers | dict(self._replaced(given)))

    def _names(self, own: Mapping[str, Any]) -> dict[str, str]:
        """Map every name of what weights can be placed in to the one under which it is placed: of a tied weight, that
        which gold has, too."""
        statistics = running_statistics(own)
        found = {
            name: name
            for name in own
            if name not in self._its.buffers or name in statistics or self._is_placed_by_rule(name)
        }
        for names in self._its.tied:
            found |= dict.fromkeys(names, max(names, key=self._rank))
        return found

    def _put(self, values: Mapping[str, Any]) -> None:
        """Give the model other values, in the dtypes of its own, under all of their names."""
        own = self._models.weights(self.model)
        every = {other: value for name, value in values.items() for other in self._same(name)}
        fitting = {name: value for name, value in every.items() if tuple(own[name].shape) == tuple(value.shape)}
        self.model = self._models.put(self.model, {name: like_own(value, own[name]) for name, value in fitting.items()})

    @property
    def _models(self) -> Any:
        return models_of(self.model)

    def _same(self, name: str) -> tuple[str, ...]:
        return next((names for names in self._its.tied if name in names), (name,))


class ConvertedModule(ConvertedModel):
    """A model with converted weights in it: `model`."""

    def _own(self, value: Any) -> Any:
        return _array(self.model, value)

    def _every(self) -> dict[str, Any]:
        found: dict[str, Any] = self._models.weights(self.model)
        return found

    def _buffers(self) -> dict[str, Any]:
        every = self._every()
        return {name: every[name] for name in self._models.weight_facts(self.model).buffers}

    def _groups(self) -> dict[str, list[str]]:
        tied = {name: names for names in self._models.weight_facts(self.model).tied for name in names}
        names = dict.fromkeys(tuple(tied.get(name, (name,))) for name in self._every() if self._must_have(name))
        return {some[0]: list(some) for some in names}

    def _gradients(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._models.gradients(self.model)
        return found

    def _write(self, values: Mapping[str, Any]) -> None:
        own = self._every()
        tied = {name: names for names in self._models.weight_facts(self.model).tied for name in names}
        every = {other: value for name, value in values.items() for other in tied.get(name, (name,))}
        self.model = self._models.put(self.model, {name: like_own(value, own[name]) for name, value in every.items()})

    @property
    def _models(self) -> Any:
        return models_of(self.model)


def like_own(value: Any, own: Any) -> Any:
    """Return an array as one of the kind that a model has in its place."""
    arrays = arrays_of(own)
    found = arrays.like(value, own)
    if dtype_name(found) == dtype_name(own) or not is_inexact(own):
        return found
    return arrays.cast(found, dtype_name(own))


def _was_rounded(array: Any) -> bool:
    """Say whether numbers in float64 have no more digits than float32 has, and as many."""
    if dtype_name(array) != "float64":
        return False
    numbers = numbers_of(array)
    return bool((numbers == numbers.astype("float32")).all()) and not is_exact(numbers, "float32")


def _array(model: Any, value: Any) -> Any:
    """Return a weight of any library as an array of the model's."""
    library = library_of(model)
    assert library is not None
    return library.arrays.from_numpy(arrays_of(value).to_numpy(value))

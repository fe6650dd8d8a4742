"""Loading gold's weights into objects that are no torch modules, and those whose weights a recipe reads itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.runs.notes import Note
from goldsmith.weights.axes import Shape
from goldsmith.weights.models import WeightAccess, weights_of
from goldsmith.weights.object_weights import CannotHold, Slot, find_slots
from goldsmith.weights.placement import Placed
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace, plan
from goldsmith.weights.values import snapshot


class LoadedObject:
    """A plain object with gold's arrays among its attributes: by name, by an adapter's renaming, or by shape.

    Attributes that are lists and dicts of arrays are replaced whole, by the attribute's name; arrays of nested objects
    are replaced one by one, by their path. It keeps its own of those that are `withheld`.
    """

    def __init__(
        self,
        model: Any,
        kept: Mapping[str, Any],
        adapter: Adapter,
        settings: Mapping[str, Any],
        pour: Callable[[Any, Any], Any],
        withheld: Collection[str] = (),
    ) -> None:
        self.model = model
        self.unplaced: CannotPlace | None = None
        self._slots = find_slots(model)
        lone = {name: tuple(value.shape) for name, value in kept.items() if is_array(value)}
        own = vars(model) if hasattr(model, "__dict__") else {}
        nested = {name: name for name in kept if name not in lone and name in own}
        theirs = {
            name: tuple(slot.read().shape) for name, slot in self._slots.items() if name.partition(".")[0] not in nested
        }
        missing = {name: () for name in kept if name not in lone and name not in own}
        if missing:
            raise CannotPlace(missing, theirs)
        simple = dataclasses.replace(adapter, rules=[rule for rule in adapter.rules if rule.parts == 1], layouts={})
        found = plan(lone, theirs, simple, "", settings, plain=True)
        self.notes, self.placed = found.notes(), found.placed
        self.extra = tuple(name for name in found.extra if name not in withheld)
        places = {item.gold[0]: item.theirs[0] for item in found.placed} | nested
        self._names = {name: places[name] for name in kept if name in places}
        self._turned = {item.gold[0] for item in found.placed if item.rule.transpose}
        same: dict[int, Any] = {}  # shared arrays must stay shared
        for name, other in self._names.items():
            value = kept[name].T if name in self._turned else kept[name]
            if name in withheld:  # its own, in the dtype of this run
                value = getattr(model, other) if name in nested else self._slots[other].read()
            if name in nested:
                setattr(model, other, same.setdefault(id(getattr(model, other)), pour(getattr(model, other), value)))
            else:
                self._write(name, self._slots[other], value, pour, same)
        self._slots = find_slots(model)

    def _write(self, name: str, slot: Slot, value: Any, pour: Callable[[Any, Any], Any], same: dict[int, Any]) -> None:
        made = same.setdefault(id(slot.value), pour(slot.read(), value))
        try:
            slot.write(made)
        except (CannotHold, TypeError) as problem:
            raise CannotPlace({name: tuple(value.shape)}, {}, [str(problem)]) from None

    def weights(self, model: Any = None) -> dict[str, Any]:
        """Return their arrays under gold's names; those of `model` if one is given."""
        model = self.model if model is None else model
        own = weights_of(model, "its weights")
        own |= {name: slot.read() for name, slot in find_slots(model).items() if name not in own}
        found = {name: own[other] for name, other in self._names.items() if other in own}
        return {name: value.T if name in self._turned else value for name, value in found.items()}

    def gradients(self) -> dict[str, Any]:
        return {}


class SettledByRecipe:
    """A model whose weights the recipe itself reads and replaces, by `case.weights(get, set)`."""

    placed: tuple[Placed, ...] = ()
    extra: tuple[str, ...] = ()
    unplaced: CannotPlace | None = None

    def __init__(
        self,
        model: Any,
        kept: Any,
        access: WeightAccess,
        pour: Callable[[Any, Any], Any],
        withheld: Collection[str] = (),
    ) -> None:
        self.model, self._get = model, access.get
        self.notes: list[Note] = []
        own = access.get(model) if withheld else {}
        values = pour(kept, {name: own.get(name, value) if name in withheld else value for name, value in kept.items()})
        access.set(model, values)
        if not _are_same(snapshot(access.get(model), "its weights"), snapshot(values, "its weights")):
            names: dict[str, Shape] = {str(name): tuple(getattr(value, "shape", ())) for name, value in kept.items()}
            raise CannotPlace(names, {}, ["what case.weights puts in is not what it then reads"])

    def weights(self, model: Any = None) -> dict[str, Any]:
        """Return what the recipe reads from the model, or from `model` if one is given."""
        found: dict[str, Any] = snapshot(self._get(self.model if model is None else model), "its weights")
        return found

    def gradients(self) -> dict[str, Any]:
        return {}


def _are_same(one: Any, two: Any) -> bool:
    """Return whether the leaves are equal, up to the rounding of another dtype."""
    import numpy as np

    mine: dict[str, Any] = dict(walk(one))
    theirs: dict[str, Any] = dict(walk(two))
    return mine.keys() == theirs.keys() and all(
        not is_array(leaf)
        or (leaf.shape == theirs[path].shape and np.allclose(numbers_of(leaf), numbers_of(theirs[path]), rtol=1e-6))
        for path, leaf in mine.items()
    )

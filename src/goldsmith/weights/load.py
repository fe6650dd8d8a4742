"""Loading gold's weights into a submission's model, and reading its weights and gradients under gold's names.

Parameters are placed by `transplant`. Buffers are computed, not learned: a model keeps its own, since its own code
reads them, unless they are statistics that training updates, or are drawn at random. Weights that are
withheld from submissions come as zeros, and a model keeps its own.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.weights.matching import UNBUILT, Shape
from goldsmith.weights.models import WeightAccess, weights_of
from goldsmith.weights.object_weights import CannotHold, Slot, find_slots, slots_beside
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace, Placed, Transplant, plan
from goldsmith.weights.values import snapshot

if TYPE_CHECKING:
    import torch

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class LoadedModule:
    """One torch model with gold's weights in it. `rebuild` makes another one like it, from another seed; its matrices
    that are `turned` are stored the other way round."""

    def __init__(
        self,
        model: torch.nn.Module,
        kept: Mapping[str, Any],
        facts: WeightFacts,
        *,
        adapter: Adapter,
        layout: str,
        settings: Mapping[str, Any],
        rebuild: Callable[[], Any],
        turned: Collection[str] = (),
    ) -> None:
        self.model = model
        self.notes: list[str] = []
        self.unplaced: CannotPlace | None = None
        self._turned = turned
        self._handles: list[Any] = []
        self._kept = {name: value for name, value in kept.items() if not name.endswith("_extra_state")}
        self._facts = facts
        self._adapter, self._layout, self._settings = adapter, layout, settings
        self._rebuild = rebuild
        self._transplant = Transplant()
        try:
            self._settle()
        except CannotPlace as problem:
            if problem.free:
                raise
            self.unplaced = problem
            self._handles = [
                module.register_forward_pre_hook(self._settle_late, with_kwargs=True) for module in model.modules()
            ]

    def stop_waiting(self) -> None:
        """Give up on weights that the model might have built in its first call."""
        for handle in self._handles:
            handle.remove()

    def weights(self, model: torch.nn.Module | None = None) -> dict[str, Any]:
        """Return parameters and persistent buffers (of `model`, if given) under gold's names, in its order."""
        model = self.model if model is None else model
        theirs = model.state_dict() | _beside(model)
        found = self._transplant.to_gold(theirs)
        for names in self._facts.tied:
            found |= {name: theirs.get(name, found[names[0]]) for name in names[1:] if names[0] in found}
        found |= {name: theirs[name] for name in self._facts.buffers if name in theirs and name not in found}
        return {name: found[name] for name in self._kept if name in found}

    def gradients(self) -> dict[str, Any]:
        """Return gradients of the parameters under gold's names; for tied parameters, under the first name only."""
        named = dict(self.model.named_parameters(remove_duplicate=False)) | _beside(self.model)
        theirs = {name: value.grad for name, value in named.items()}
        found = self._transplant.to_gold(theirs)
        return {name: found[name] for name in self._kept if name in found and name not in self._facts.buffers}

    def frozen(self) -> set[str]:
        """Return gold's names of the parameters that require no gradients."""
        theirs = {name for name, value in self.model.named_parameters() if not value.requires_grad}
        return {name for item in self._transplant.placed if theirs.issuperset(item.theirs) for name in item.gold}

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace values, by gold's names; those that have no place are skipped."""
        import torch

        parameters, buffers = self._parameters(), dict(self.model.named_buffers())
        now = {**self.weights(), **values}
        with torch.no_grad():
            for item in self._transplant.placed:
                if set(item.gold) & set(values):
                    for name, value in zip(item.theirs, item.carry([now[name] for name in item.gold]), strict=True):
                        _fill(parameters[name], value)
            for name, value in values.items():
                if name in buffers and buffers[name].shape == value.shape:
                    buffers[name].copy_(value)

    @property
    def placed(self) -> tuple[Placed, ...]:
        return self._transplant.placed

    @property
    def extra(self) -> tuple[str, ...]:
        return tuple(name for name in self._transplant.extra if name not in self._facts.withheld)

    def _settle(self) -> None:
        import torch

        parameters = self._parameters()
        repeated = {name for names in self._facts.tied for name in names[1:]}
        wanted = {
            name: tuple(value.shape)
            for name, value in self._kept.items()
            if name not in repeated and (name not in self._facts.buffers or name.endswith(STATISTICS[:2]))
        }
        self._transplant = plan(
            wanted, _shapes(parameters), self._adapter, self._layout, self._settings, turned=self._turned
        )
        self.notes = self._transplant.notes()
        with torch.no_grad():
            for item in self._transplant.placed:
                if set(item.gold) <= set(self._facts.withheld):
                    continue
                values = item.carry([self._kept[name] for name in item.gold])
                for name, value in zip(item.theirs, values, strict=True):
                    _fill(parameters[name], value)
            for name in repeated:
                if name in parameters and parameters[name].shape == self._kept[name].shape:
                    _fill(parameters[name], self._kept[name])
            self._settle_buffers()

    def _parameters(self) -> dict[str, torch.Tensor]:
        """Return each parameter once, under gold's name where it has that among others, and the running statistics."""
        found: dict[int, str] = {}
        everything: dict[str, torch.Tensor] = dict(self.model.named_parameters(remove_duplicate=False))
        everything |= _beside(self.model)
        everything |= {name: value for name, value in self.model.named_buffers() if name.endswith(STATISTICS[:2])}
        repeated = {name for names in self._facts.tied for name in names[1:]}

        def rank(name: str) -> int:
            return (name in self._kept) + (name in self._kept and name not in repeated)

        for name, value in everything.items():
            if id(value) not in found or rank(name) > rank(found[id(value)]):
                found[id(value)] = name
        names = set(found.values())
        return {name: value for name, value in everything.items() if name in names}

    def _settle_buffers(self) -> None:
        theirs = dict(self.model.named_buffers())
        given = [name for name in self._facts.buffers if name not in self._facts.withheld]
        computed = [name for name in given if not name.endswith(STATISTICS[:2])]
        other: dict[str, torch.Tensor] | None = None
        for name in computed:
            mine, own = self._kept.get(name), theirs.get(name)
            if mine is None or own is None or own.shape != mine.shape or _close(own, mine):
                continue
            if name.endswith(STATISTICS):
                own.copy_(mine)
                continue
            if other is None:
                other = self._buffers_of_another()
            if name in other and other[name].shape == own.shape and not _close(own, other[name]):
                own.copy_(mine)
            else:
                self.notes.append(f"its buffer {name} differs from gold's; its own was kept")

    def _buffers_of_another(self) -> dict[str, torch.Tensor]:
        import torch

        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
        with torch.random.fork_rng(devices=list(devices)):
            torch.manual_seed(torch.initial_seed() + 1)
            return dict(self._rebuild().named_buffers())

    def _settle_late(self, module: Any, args: Any, kwargs: Any) -> None:
        """Make the first call of a model that builds parts of itself in it, then place its weights."""
        import torch

        if self.unplaced is None:
            return
        waiting, self.unplaced = self.unplaced, None  # nested calls are not the first
        with torch.no_grad(), contextlib.suppress(Exception):
            module.forward(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        try:
            self._settle()
        except CannotPlace as problem:
            if problem.free:
                raise
            self.unplaced = waiting
            return
        self.notes.append("it builds some of its weights in its first call; gold's were put in after it")
        for handle in self._handles:
            handle.remove()


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
        self.notes: list[str] = []
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


def weight_facts(model: torch.nn.Module) -> WeightFacts:
    """Return which of a model's weights are buffers, and which are tied."""
    parameters = dict(model.named_parameters(remove_duplicate=False)) | _beside(model)
    groups: dict[int, list[str]] = {}
    for name, value in parameters.items():
        groups.setdefault(id(value), []).append(name)
    buffers = tuple(name for name in model.state_dict() if name not in parameters and not name.endswith("_extra_state"))
    return WeightFacts(buffers, tuple(tuple(names) for names in groups.values() if len(names) > 1))


def _beside(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters that a model has not registered, such as those of layers in a list."""
    return {name: slot.value for name, slot in slots_beside(model).items()}


def _shapes(parameters: Mapping[str, torch.Tensor]) -> dict[str, Shape]:
    from torch.nn.parameter import is_lazy

    return {name: UNBUILT if is_lazy(value) else tuple(value.shape) for name, value in parameters.items()}


def _fill(target: Any, value: torch.Tensor) -> None:
    from torch.nn.parameter import is_lazy

    if is_lazy(target):
        target.materialize(value.shape)
    target.copy_(value)


def _close(one: torch.Tensor, two: torch.Tensor) -> bool:
    import torch

    if one.is_floating_point() != two.is_floating_point() or one.is_complex() != two.is_complex():
        return False
    wide = torch.complex128 if one.is_complex() else torch.float64
    two = two.to(one.device)
    return bool(torch.allclose(one.to(wide), two.to(wide), rtol=1e-6, atol=1e-9, equal_nan=True))

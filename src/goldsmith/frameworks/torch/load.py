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
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.notes import MAX_ITEMS, Names, Note
from goldsmith.weights.axes import UNBUILT, Shape
from goldsmith.weights.loaded import STATISTICS, LoadedModel
from goldsmith.weights.object_weights import slots_beside
from goldsmith.weights.placement import BY_RULE, Placed
from goldsmith.weights.rules import Adapter, Rule, match
from goldsmith.weights.tied import places_of, plan_copies, shared_places
from goldsmith.weights.transplant import CannotPlace, Transplant, plan


class LoadedModule(LoadedModel):
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
        self.notes: list[Note] = []
        self.unplaced: CannotPlace | None = None
        self._turned = turned
        self._handles: list[Any] = []
        self._kept = {name: value for name, value in kept.items() if not name.endswith("_extra_state")}
        self._facts = facts
        self._adapter, self._layout, self._settings = adapter, layout, settings
        self._rebuild = rebuild
        self._transplant = Transplant()
        self._copies: list[Placed] = []
        self.idle: tuple[Rule, ...] = ()
        """Rules of the adapter's that placed nothing."""
        self.shared: tuple[str, ...] = ()
        """Weights of gold's that are the same numbers as others, and one weight with them here."""
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
        theirs = model.state_dict() | unregistered(model)
        found = self._transplant.to_gold(theirs)
        for names in self._facts.tied:
            found |= {name: theirs.get(name, found[names[0]]) for name in names[1:] if names[0] in found}
        found |= Transplant(tuple(self._copies)).to_gold(theirs)
        found |= {name: theirs[name] for name in self._facts.buffers if name in theirs and name not in found}
        return {name: found[name] for name in self._kept if name in found}

    def gradients(self) -> dict[str, Any]:
        """Return gradients of the parameters under gold's names; for tied parameters, under the first name only. Where
        a rule says that a weight holds a copy, the gradients of both are added."""
        named = dict(self.model.named_parameters(remove_duplicate=False)) | unregistered(self.model)
        theirs = {name: value.grad for name, value in named.items()}
        found = self._transplant.to_gold(theirs)
        first = {name: names[0] for names in self._facts.tied for name in names[1:]}
        declared = Transplant(tuple(item for item in self._copies if item.how == BY_RULE))
        for name, more in declared.to_gold(theirs).items():
            own = found.get(first[name])
            found[first[name]] = more if own is None else own if more is None else own + more
        return {name: found[name] for name in self._kept if name in found and name not in self._facts.buffers}

    def frozen(self) -> set[str]:
        """Return gold's names of the parameters that require no gradients."""
        theirs = {name for name, value in self.model.named_parameters() if not value.requires_grad}
        return {name for item in self._transplant.placed if theirs.issuperset(item.theirs) for name in item.gold}

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace values, by gold's names; those that have no place are skipped."""
        parameters, buffers = self._parameters(), dict(self.model.named_buffers())
        now = {**self.weights(), **values}
        with torch.no_grad():
            for item in self.placed:
                if set(item.gold) & set(values):
                    for name, value in zip(item.theirs, item.carry([now[name] for name in item.gold]), strict=True):
                        _fill(parameters[name], value)
            for name, value in values.items():
                if name in buffers and buffers[name].shape == value.shape:
                    buffers[name].copy_(value)

    @property
    def placed(self) -> tuple[Placed, ...]:
        return (*self._transplant.placed, *self._copies)

    @property
    def extra(self) -> tuple[str, ...]:
        return tuple(name for name in self._transplant.extra if name not in self._facts.withheld)

    def _settle(self) -> None:
        parameters = self._parameters()
        repeated = {name for names in self._facts.tied for name in names[1:]}
        wanted = {
            name: tuple(value.shape)
            for name, value in self._kept.items()
            if name not in repeated and (name not in self._facts.buffers or name.endswith(STATISTICS[:2]))
        }
        shapes = _shapes(parameters)
        aliases = self._aliases(parameters)
        needed = (name for name in wanted if not self._adapter.excuses(name))
        shared = shared_places(needed, aliases, self._adapter.rules)
        for name in shared:
            del wanted[name]
        found = plan(wanted, shapes, self._adapter, self._layout, self._settings, turned=self._turned)
        twice = {
            name: tuple(self._kept[name].shape)
            for name in repeated
            if name in self._kept and name not in parameters and not set(aliases) & _places(name, self._adapter)
        }
        extra = {name: shapes[name] for name in found.extra if name not in repeated}
        self._copies = plan_copies(twice, extra, self._adapter, self._layout, self._settings, self._turned)
        copied = {name for item in self._copies for name in item.theirs}
        self._transplant = dataclasses.replace(found, extra=tuple(name for name in found.extra if name not in copied))
        self.shared = tuple(shared)
        self.idle = self._idle(found.idle, parameters, aliases, (*repeated, *shared))
        self.notes = self._transplant.notes()
        self._require_equal(shared, aliases, found)
        if self._copies:
            self.notes.append(
                Note(
                    "untied",
                    tuple(item.names for item in self._copies[:MAX_ITEMS]),
                    max(0, len(self._copies) - MAX_ITEMS),
                )
            )
        with torch.no_grad():
            for item in self.placed:
                if set(item.gold) <= set(self._facts.withheld):
                    continue
                values = item.carry([self._kept[name] for name in item.gold])
                for name, value in zip(item.theirs, values, strict=True):
                    _fill(parameters[name], value)
            for name in repeated:
                if name in parameters and parameters[name].shape == self._kept[name].shape:
                    _fill(parameters[name], self._kept[name])
            self._settle_buffers()

    def _aliases(self, parameters: Mapping[str, torch.Tensor]) -> dict[str, str]:
        """Map the other names of tied parameters to the one that they are placed under."""
        names = {id(value): name for name, value in parameters.items()}
        every = dict(self.model.named_parameters(remove_duplicate=False))
        return {name: names[id(value)] for name, value in every.items() if names.get(id(value), name) != name}

    def _require_equal(self, shared: Mapping[str, str], aliases: Mapping[str, str], found: Transplant) -> None:
        """Raise CannotPlace if two weights of gold's go into one, and are not the same numbers."""
        for name, alias in shared.items():
            holder = next((item.gold[0] for item in found.placed if item.theirs == (aliases[alias],)), None)
            mine = self._kept[name]
            if holder is None or self._kept[holder].shape != mine.shape or not torch.equal(self._kept[holder], mine):
                shape = tuple(mine.shape)
                reason = f"{alias} is tied to {aliases[alias]}, and {name} is not {holder or 'the same'} in gold"
                raise CannotPlace({name: shape}, {alias: shape}, [reason])
            self.notes.append(Note("one-weight", (Names(gold=(name, holder)),)))

    def _idle(
        self,
        rules: Collection[Rule],
        parameters: Mapping[str, torch.Tensor],
        aliases: Mapping[str, str],
        tied: Collection[str],
    ) -> tuple[Rule, ...]:
        """Return those rules that are not about tied weights either."""
        there = {*parameters, *aliases}
        about = [rule for name in tied for place, rule in places_of(name, rules) if rule and place in there]
        return tuple(rule for rule in rules if rule not in about)

    def _parameters(self) -> dict[str, torch.Tensor]:
        """Return each parameter once, under gold's name where it has that among others, the running statistics, and
        buffers that a rule places weights in."""
        found: dict[int, str] = {}
        everything: dict[str, torch.Tensor] = dict(self.model.named_parameters(remove_duplicate=False))
        everything |= unregistered(self.model)
        everything |= {
            name: value
            for name, value in self.model.named_buffers()
            if name.endswith(STATISTICS[:2]) or self._is_placed_by_rule(name)
        }
        repeated = {name for names in self._facts.tied for name in names[1:]}

        def rank(name: str) -> int:
            return (name in self._kept) + (name in self._kept and name not in repeated)

        for name, value in everything.items():
            if id(value) not in found or rank(name) > rank(found[id(value)]):
                found[id(value)] = name
        names = set(found.values())
        return {name: value for name, value in everything.items() if name in names}

    def _is_placed_by_rule(self, buffer: str) -> bool:
        """Say whether a rule is about this very buffer, or the same of all layers."""
        patterns = (item.name for rule in self._adapter.rules for item in rule.theirs)
        return any("**" not in pattern and match(pattern, buffer) is not None for pattern in patterns)

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
                self.notes.append(Note("own-buffer", (Names(gold=(name,)),)))

    def _buffers_of_another(self) -> dict[str, torch.Tensor]:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
        with torch.random.fork_rng(devices=list(devices)):
            torch.manual_seed(torch.initial_seed() + 1)
            return dict(self._rebuild().named_buffers())

    def _settle_late(self, module: Any, args: Any, kwargs: Any) -> None:
        """Make the first call of a model that builds parts of itself in it, then place its weights."""
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
        self.notes.append(Note("late"))
        for handle in self._handles:
            handle.remove()


def _places(name: str, adapter: Adapter) -> set[str]:
    return {place for place, _ in places_of(name, adapter.rules)}


def weight_facts(model: torch.nn.Module) -> WeightFacts:
    """Return which of a model's weights are buffers, and which are tied."""
    parameters = dict(model.named_parameters(remove_duplicate=False)) | unregistered(model)
    groups: dict[int, list[str]] = {}
    for name, value in parameters.items():
        groups.setdefault(id(value), []).append(name)
    buffers = tuple(name for name in model.state_dict() if name not in parameters and not name.endswith("_extra_state"))
    return WeightFacts(buffers, tuple(tuple(names) for names in groups.values() if len(names) > 1))


def unregistered(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters that a model has not registered, such as those of layers in a list."""
    return {name: slot.value for name, slot in slots_beside(model).items()}


def _shapes(parameters: Mapping[str, torch.Tensor]) -> dict[str, Shape]:
    return {name: UNBUILT if is_lazy(value) else tuple(value.shape) for name, value in parameters.items()}


def _fill(target: Any, value: torch.Tensor) -> None:
    if is_lazy(target):
        target.materialize(value.shape)
    target.copy_(value)


def _close(one: torch.Tensor, two: torch.Tensor) -> bool:
    if one.is_floating_point() != two.is_floating_point() or one.is_complex() != two.is_complex():
        return False
    wide = torch.complex128 if one.is_complex() else torch.float64
    two = two.to(one.device)
    return bool(torch.allclose(one.to(wide), two.to(wide), rtol=1e-6, atol=1e-9, equal_nan=True))

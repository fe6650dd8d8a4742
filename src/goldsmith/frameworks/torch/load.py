"""Loading weights into torch models: gold's into a submission's, whose own are read under gold's names; converted ones;
drawn ones."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from goldsmith.frameworks.framework import arrays_of
from goldsmith.frameworks.torch.arrays import from_numpy, stress_values, uniform
from goldsmith.frameworks.torch.numerics import seed_generators
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import LINEAR, OTHER, TABLE
from goldsmith.runs.notes import Note
from goldsmith.weights.axes import UNBUILT, Shape
from goldsmith.weights.converted import ConvertedModel
from goldsmith.weights.leaves import running_statistics
from goldsmith.weights.object_weights import slots_beside
from goldsmith.weights.planned import PlannedModel
from goldsmith.weights.transplant import CannotPlace


class LoadedModule(PlannedModel):
    """One torch model with gold's weights in it. `rebuild` makes another one like it, from another seed."""

    def __init__(
        self,
        model: torch.nn.Module,
        kept: Mapping[str, Any],
        facts: WeightFacts,
        *,
        rebuild: Callable[[], Any],
        **options: Any,
    ) -> None:
        super().__init__(model, {name: tensor_of(value) for name, value in kept.items()}, facts, **options)
        self._handles: list[Any] = []
        self._rebuild = rebuild
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
        model = self.model if model is None else model
        return self._under_gold_names(model.state_dict() | unregistered(model))

    def gradients(self) -> dict[str, Any]:
        named = dict(self.model.named_parameters(remove_duplicate=False)) | unregistered(self.model)
        return self.brought_back({name: value.grad for name, value in named.items()})

    def frozen(self) -> set[str]:
        theirs = {name for name, value in self.model.named_parameters() if not value.requires_grad}
        return {name for item in self._transplant.placed if theirs.issuperset(item.theirs) for name in item.gold}

    def put(self, values: Mapping[str, Any]) -> None:
        parameters, buffers = self._parameters(), dict(self.model.named_buffers())
        with torch.no_grad():
            for name, value in self._replaced({name: tensor_of(value) for name, value in values.items()}):
                _fill(parameters[name], value)
            for name, value in values.items():
                if name in buffers and buffers[name].shape == value.shape:
                    buffers[name].copy_(tensor_of(value))

    def _settle(self) -> None:
        parameters = self._parameters()
        self._plan(_shapes(parameters), self._aliases(parameters), lambda: kinds(self.model))
        with torch.no_grad():
            for name, value in self._carried():
                _fill(parameters[name], value)
            for name in self._repeated:
                if name in parameters and parameters[name].shape == self._kept[name].shape:
                    _fill(parameters[name], self._kept[name])
            buffers = dict(self.model.named_buffers())
            for name, value in self._own_buffers(buffers, self._buffers_of_another):
                buffers[name].copy_(value)
        self._let_go()

    def _aliases(self, parameters: Mapping[str, torch.Tensor]) -> dict[str, str]:
        """Map the other names of tied parameters to the one that they are placed under."""
        names = {id(value): name for name, value in parameters.items()}
        every = dict(self.model.named_parameters(remove_duplicate=False))
        return {name: names[id(value)] for name, value in every.items() if names.get(id(value), name) != name}

    def _parameters(self) -> dict[str, torch.Tensor]:
        """Return each parameter once, under gold's name where it has that among others, the running statistics, and
        buffers that a rule places weights in."""
        found: dict[int, str] = {}
        everything: dict[str, torch.Tensor] = dict(self.model.named_parameters(remove_duplicate=False))
        everything |= unregistered(self.model)
        buffers = dict(self.model.named_buffers())
        statistics = running_statistics(buffers)
        everything |= {
            name: value for name, value in buffers.items() if name in statistics or self._is_placed_by_rule(name)
        }
        for name, value in everything.items():
            if id(value) not in found or self._rank(name) > self._rank(found[id(value)]):
                found[id(value)] = name
        names = set(found.values())
        return {name: value for name, value in everything.items() if name in names}

    def _buffers_of_another(self) -> dict[str, torch.Tensor]:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
        with torch.random.fork_rng(devices=list(devices)):
            seed_generators(torch.initial_seed() + 1)
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


def weight_facts(model: torch.nn.Module) -> WeightFacts:
    """Return which of a model's weights are buffers, and which are tied."""
    parameters = dict(model.named_parameters(remove_duplicate=False)) | unregistered(model)
    groups: dict[int, list[str]] = {}
    for name, value in parameters.items():
        groups.setdefault(id(value), []).append(name)
    buffers = tuple(name for name in model.state_dict() if name not in parameters and not name.endswith("_extra_state"))
    return WeightFacts(buffers, tuple(tuple(names) for names in groups.values() if len(names) > 1))


def kinds(model: torch.nn.Module) -> dict[str, str]:
    """Say of each parameter whether it is a matrix, a table or something else."""
    tables = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    found: dict[str, str] = {}
    for name, owner in model.named_modules():
        kind = LINEAR if isinstance(owner, torch.nn.Linear) else TABLE if isinstance(owner, tables) else OTHER
        found |= {f"{name}.{item}" if name else item: kind for item, _ in owner.named_parameters(recurse=False)}
    return found


def unregistered(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters that a model has not registered, such as those of layers in a list."""
    return {name: slot.value for name, slot in slots_beside(model).items()}


def _shapes(parameters: Mapping[str, torch.Tensor]) -> dict[str, Shape]:
    return {name: UNBUILT if is_lazy(value) else tuple(value.shape) for name, value in parameters.items()}


def _fill(target: Any, value: torch.Tensor) -> None:
    if is_lazy(target):
        target.materialize(value.shape)
    target.copy_(value)


def tensor_of(value: Any) -> torch.Tensor:
    """Return a weight of another library as a tensor."""
    found = value if isinstance(value, torch.Tensor) else from_numpy(arrays_of(value).to_numpy(value))
    assert isinstance(found, torch.Tensor)
    return found


# --- converted by a function


class ConvertedModule(ConvertedModel):
    """A torch model with converted weights in it."""

    def _own(self, value: Any) -> torch.Tensor:
        return tensor_of(value).detach().clone()

    def _every(self) -> dict[str, Any]:
        parameters = dict(self.model.named_parameters(remove_duplicate=False)) | unregistered(self.model)
        return parameters | self._buffers()

    def _buffers(self) -> dict[str, Any]:
        return dict(self.model.named_buffers())

    def _groups(self) -> dict[str, list[str]]:
        found: dict[int, list[str]] = {}
        for name, item in self._every().items():
            if self._must_have(name):
                found.setdefault(id(item), []).append(name)
        return {names[0]: names for names in found.values()}

    def _gradients(self) -> dict[str, Any]:
        return {name: item.grad for name, item in self._parameters().items()}

    def _write(self, values: Mapping[str, Any]) -> None:
        every = self._every()
        with torch.no_grad():
            for name, value in values.items():
                every[name].copy_(tensor_of(value))


# --- drawn


def stress(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Redraw the weights of `model` in place, from `seed` and each weight's name alone: the `stress` profile.

    No parameter keeps its identity value, and activations stay of order one. At init a norm's scale is 1 and a bias is
    0, so that a missing scale or bias does not show. Here it does.
    """
    embeddings = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.is_floating_point():
                continue
            weight.copy_(stress_values(name, weight, seed, is_table=id(weight) in embeddings))
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(uniform(name, buffer, seed, -0.5, 0.5))
            elif name.endswith("running_var"):
                buffer.copy_(uniform(name, buffer, seed, 0.5, 1.5))
    return model

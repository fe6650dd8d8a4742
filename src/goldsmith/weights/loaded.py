"""Weights that were put into another model: what every framework's way of doing that says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldsmith.runs.notes import Note
from goldsmith.weights.placement import Placed
from goldsmith.weights.rules import Rule
from goldsmith.weights.transplant import CannotPlace

Convert = Callable[[dict[str, Any]], Mapping[str, Any]]


class LoadedModel:
    """A framework's model with gold's weights in it."""

    model: Any
    notes: list[Note]
    unplaced: CannotPlace | None
    idle: tuple[Rule, ...]
    """Rules of the adapter's that placed nothing."""
    shared: tuple[str, ...]
    """Weights of gold's that are the same numbers as others, and one weight with them here."""
    waits = ""
    """The name of a model that has no weights before its first call, and so not gold's yet; empty otherwise."""
    rounded = False
    """Whether it keeps numbers of its own that were rounded to float32 when it was built in float64."""

    @property
    def placed(self) -> tuple[Placed, ...]:
        raise NotImplementedError

    @property
    def extra(self) -> tuple[str, ...]:
        raise NotImplementedError

    def weights(self, model: Any = None) -> dict[str, Any]:
        """Return parameters and persistent buffers (of `model`, if given) under gold's names, in its order."""
        raise NotImplementedError

    def gradients(self) -> dict[str, Any]:
        """Return gradients of the parameters under gold's names."""
        raise NotImplementedError

    def brought_back(self, gradients: Mapping[str, Any]) -> dict[str, Any]:
        """Return gradients by the model's names under gold's; for tied parameters, under the first name only. Where a
        rule says that a weight holds a copy, the gradients of both are added."""
        raise NotImplementedError

    def frozen(self) -> set[str]:
        """Return gold's names of the parameters that require no gradients."""
        raise NotImplementedError

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace values, by gold's names; those that have no place are skipped. `model` is the one with them."""
        raise NotImplementedError

    def stop_waiting(self) -> None:
        """Give up on weights that the model might have built in its first call."""


class CannotConvert(Exception):
    """What a conversion returns is not what the candidate needs; the message says why."""


@dataclass(frozen=True)
class HeldNumbers:
    """The weights of another model, by its names, that are held: those `rounded`, with the dtype, and those whose
    `rows` are in another order, with the place of each row there."""

    names: tuple[str, ...] = ()
    rounded: dict[str, str] = field(default_factory=dict)
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)

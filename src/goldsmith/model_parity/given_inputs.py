"""What two models were given from outside, where one takes other inputs than the other: that is right, whatever it
is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call, distance, input_error


@dataclass
class GivenInputs:
    """Which tensors only the reference, or only the candidate, was given, by their identity in the traces."""

    mine: set[int] = field(default_factory=set)
    theirs: set[int] = field(default_factory=set)
    outermost: bool = False
    """Whether the two models take other inputs at all."""

    @classmethod
    def of(cls, mine: Mapping[int, Call], theirs: Mapping[int, Call]) -> GivenInputs:
        """Look at the calls of both models as they were traced, by position."""
        one, two = _given_to(mine), _given_to(theirs)
        return cls(_strangers(one, two), _strangers(two, one), outermost=True)

    def accept(self, pair: TracePair, mine: Mapping[int, Call], theirs: Mapping[int, Call]) -> None:
        """Compare what paired calls were given without such tensors, where both were given any."""
        for call in pair.gold:
            partner = pair.partners.get(call.position)
            if partner is None or (call.training, call.no_grad) != (partner.training, partner.no_grad):
                continue
            right = _others(call, mine[call.position], self.mine)
            left = _others(partner, theirs[partner.position], self.theirs)
            if not call.module or (len(right) < len(call.inputs) and len(left) < len(partner.inputs)):
                pair.input_errors[call.position] = input_error(left, right, in_order=False, close=pair.close)

    def kept_in(self, call: Call) -> set[int]:
        """Return which inputs of a call of the candidate's are its own: all of the model's, which may have another
        order."""
        return {id(item) for item in call.inputs} if self.outermost and not call.module else self.theirs


def _others(call: Call, traced: Call, known: set[int]) -> list[Any]:
    return [item for item, raw in zip(call.inputs, traced.inputs, strict=True) if id(raw) not in known]


def _given_to(calls: Mapping[int, Call]) -> list[Any]:
    return [item for call in calls.values() if not call.module for item in call.inputs]


def _strangers(tensors: Sequence[Any], others: Sequence[Any]) -> set[int]:
    return {id(item) for item in tensors if not any(_is_same(other, item) for other in others)}


def _is_same(one: Any, two: Any) -> bool:
    return bool(one.shape == two.shape) and distance(one, two) == 0.0

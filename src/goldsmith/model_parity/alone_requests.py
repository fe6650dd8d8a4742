"""Requests to make one of the reference's calls with the candidate's module, alone, on the reference's inputs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from goldsmith.judge.trace_pairs import arguments
from goldsmith.judge.traces import Call, distance
from goldsmith.model_parity.aligned_calls import as_shaped, channels_first_and_last, correspond
from goldsmith.model_parity.input_forms import in_form_of
from goldsmith.model_parity.output_pairs import shape_of
from goldsmith.runs.implementation import MODEL
from goldsmith.runs.requests import IsolatedCall


def request_alone(
    call: Call,
    partner: Call,
    module: str,
    *,
    gradients: bool = False,
    kept: Collection[int] = (),
    turned: bool = False,
) -> tuple[IsolatedCall, list[Any]]:
    """Return a request to make the reference's `call` with the candidate's module. Where the candidate takes other
    arguments, it is called as it was, with the reference's tensors in place of those that correspond, but for those
    whose identities are `kept`."""
    same = (
        not (turned and any(map(channels_first_and_last, partner.inputs)))
        and not any(id(item) in kept for item in partner.inputs)
        and arguments(partner) == arguments(call)
        and [shape_of(item) for item in partner.inputs] == [shape_of(item) for item in call.inputs]
    )
    inputs, form, narrow = call.inputs, call.form, call.bfloat16
    if not same and partner.form is not None:
        inputs, form, narrow = (
            tuple(_nearest(partner.inputs, call.inputs, kept, turned=turned)),
            partner.form,
            partner.bfloat16,
        )
    made = IsolatedCall(
        model=MODEL,
        module=module,
        form=form,
        training=call.training,
        bfloat16=tuple(name for name in narrow if name.isdecimal()),
        gradients=gradients,
    )
    return made, list(inputs)


def _nearest(
    theirs: Sequence[Any], mine: Sequence[Any], kept: Collection[int] = (), *, turned: bool = False
) -> list[Any]:
    """Return, for each of their tensors, the reference's that corresponds, with their axes: the nearest of those that
    do; their own where there is none, or where it is `kept`. What they take twice is one tensor, unless the reference
    takes two such."""
    rest = list(mine)
    found: list[Any] = []
    for place, tensor in enumerate(theirs):
        if id(tensor) in kept:
            found.append(tensor)
            continue
        again = next((number for number in range(place) if theirs[number] is tensor), None)
        if again is not None:
            alike = [item for item in rest if _is_alike(item, tensor)]
            found.append(alike[0] if alike else found[again])
            rest = [item for item in rest if not alike or item is not alike[0]]
            continue
        shaped = (
            as_shaped(item, tensor, turned=turned)
            if item.dtype.kind == tensor.dtype.kind and correspond(item, tensor)
            else in_form_of(item, tensor)
            for item in rest
        )
        near = [(distance(tensor, item), number, item) for number, item in enumerate(shaped) if item is not None]
        if not near:
            found.append(tensor)
            continue
        _, number, best = min(near, key=lambda item: item[:2])
        del rest[number]
        found.append(best)
    return found


def _is_alike(one: Any, two: Any) -> bool:
    """Say whether two tensors are of one kind and may differ in length, as what attention looks at and looks from."""
    if not (one.dtype.kind == two.dtype.kind == "f" and one.ndim == two.ndim > 2):
        return False
    differing = [axis for axis, sizes in enumerate(zip(one.shape, two.shape, strict=True)) if len(set(sizes)) > 1]
    return len(differing) <= 1 and one.ndim - 1 not in differing

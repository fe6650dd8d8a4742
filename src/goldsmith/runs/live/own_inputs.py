"""Inputs of a candidate that takes others than the reference: named, ordered or shaped otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from goldsmith.errors.parity import BadInputs
from goldsmith.frameworks.framework import arrays_of, framework_of
from goldsmith.gold.arrays import as_numpy, dtype_name, is_array
from goldsmith.runs.live.model_facts import arrays_in
from goldsmith.runs.live.returned_values import InputSet, copied, input_sets


def own_input_sets(given: Any, reference: Sequence[InputSet]) -> list[InputSet]:
    """Return a candidate's sets of inputs, one for each of the reference's. A function that takes arguments is given
    the reference's; of a list, each item makes the next set."""
    if _takes_arguments(given):
        return [_made(given, each) for each in reference]
    found: list[InputSet] = []
    for item in given if isinstance(given, list) else [given]:
        if not _takes_arguments(item):
            found += input_sets(item)
        elif len(found) < len(reference):
            found.append(_made(item, reference[len(found)]))
        else:
            found.append(InputSet())
    if len(found) != len(reference):
        mine, theirs = (f"{count} set{'s' if count != 1 else ''}" for count in (len(reference), len(found)))
        raise BadInputs(f"inputs has {mine} and inputs_candidate {theirs}, which must be as many")
    return found


def same_inputs(own: InputSet, reference: InputSet) -> dict[str, str]:
    """Map the names of a candidate's arrays to the reference's that hold the same, where there is only one."""
    mine, theirs = arrays_in(reference), arrays_in(own)
    found = {}
    for name, item in theirs.items():
        alike = [other for other, value in mine.items() if _same(item, value)]
        if len(alike) == 1 and sum(_same(value, item) for value in theirs.values()) == 1:
            found[name] = alike[0]
    return found


def _takes_arguments(given: Any) -> bool:
    if not callable(given) or is_array(given) or inspect.isclass(given):
        return False
    try:
        parameters = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(item.default is item.empty for item in parameters)


def _made(make: Any, each: InputSet) -> InputSet:
    """Have a function make a set of inputs of copies of the reference's."""
    found = input_sets(make(*copied(each.args, _copy), **copied(each.kwargs, _copy)))
    if len(found) != 1:
        raise BadInputs(f"the function inputs_candidate makes {len(found)} sets of inputs of one of the reference's")
    return found[0]


def _copy(array: Any) -> Any:
    return arrays_of(array).copy(array)


def _same(one: Any, two: Any) -> bool:
    if tuple(one.shape) != tuple(two.shape) or dtype_name(one) != dtype_name(two):
        return False
    if framework_of(one) is framework_of(two):
        return arrays_of(one).equal(one, two)
    return bool((as_numpy(one) == as_numpy(two)).all())

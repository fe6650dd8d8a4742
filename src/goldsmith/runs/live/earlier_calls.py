"""Calls that come before the one that counts: what is kept from them shows in its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import array_hash, is_array, is_floating
from goldsmith.runs.conditions import Before
from goldsmith.runs.live.model_facts import arrays_in, detached
from goldsmith.runs.live.returned_values import InputSet, copied, named_values
from goldsmith.runs.live.structured_inputs import other_contents

EARLIER_CALLS = 10
"""Some kernels compute in the first calls, which are checked, and answer from memory in those that are timed."""


def called_after(call: Callable[..., Any], given: InputSet, before: Before) -> tuple[Any, bool]:
    """Call on other contents first, then as given. Return what the last call returned, and whether it has written over
    what an earlier one returned."""
    if not before:
        return call(*given.args, **given.kwargs), False
    kept: dict[str, tuple[Any, str]] = {}
    if before == "same buffer":
        arrays = [item for item in arrays_in(given).values() if is_floating(item)]
        own = [arrays_of(item).copy(item) for item in arrays]
        for number in (1, 0):  # the last time, only their tail is another
            for item, values in zip(arrays, own, strict=True):
                _rewrite(item, other_contents(values, number))
            call(*given.args, **given.kwargs)
        for item, values in zip(arrays, own, strict=True):
            _rewrite(item, values)
    else:
        for number in range(EARLIER_CALLS):
            earlier = _with_contents(given, number)
            found = _arrays_of(call(*earlier.args, **earlier.kwargs))
            kept = {name: (item, array_hash(detached(item))) for name, item in found.items()}
    returned = call(*given.args, **given.kwargs)
    return returned, any(array_hash(detached(item)) != digest for item, digest in kept.values())


def shared_with_inputs(returned: Any, given: InputSet) -> tuple[str, ...]:
    """Return the names of the inputs whose memory a result shares."""
    taken = {arrays_of(item).memory_id(item) for item in _arrays_of(returned).values()} - {0}
    return tuple(name for name, item in arrays_in(given).items() if arrays_of(item).memory_id(item) in taken)


def _arrays_of(returned: Any) -> dict[str, Any]:
    return {path: item for path, item in named_values(returned)[0].items() if is_array(item)}


def _rewrite(array: Any, values: Any) -> None:
    """Write through an alias: neither the array's address nor its version changes."""
    arrays = arrays_of(array)
    arrays.overwrite(arrays.alias(array), values)


def _with_contents(given: InputSet, number: int) -> InputSet:
    def other(array: Any) -> Any:
        values = arrays_of(array).copy(array)
        return other_contents(values, number) if is_floating(array) else values

    return InputSet(copied(given.args, other), copied(given.kwargs, other))

"""Refuse a submission's trace, before anything else is done with it, if no honest run could have written it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldsmith.check.bounds import MOST_CALLS, MOST_DEPTH, MOST_IN_A_FORM, MOST_TENSORS


def refuse_absurd(index: Any) -> None:
    """Raise ValueError for more calls, tensors or values than a trace can have."""
    if not isinstance(index, list) or len(index) > MOST_CALLS:
        raise ValueError(f"it is not a trace of at most {MOST_CALLS} calls")
    for entry in index:
        if not isinstance(entry, dict) or type(entry.get("depth")) is not int or not 0 <= entry["depth"] <= MOST_DEPTH:
            raise ValueError(f"it is not a trace: a call in it has no depth up to {MOST_DEPTH}")
        if _length(entry.get("inputs")) + _length(entry.get("outputs")) > MOST_TENSORS:
            raise ValueError(f"a call in it has more than {MOST_TENSORS} tensors")
        if _is_long(entry.get("form")) or _is_long(entry.get("returned")) or _is_long(entry.get("gradients")):
            raise ValueError(f"a call in it has more than {MOST_IN_A_FORM} values")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_long(value: Any) -> bool:
    """Return whether a value contains more values than are ever recorded of a call."""
    left: list[Any] = [value]
    seen = 0
    while left and seen <= MOST_IN_A_FORM:
        item = left.pop()
        inside: Sequence[Any] = (
            list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else ()
        )
        seen += 1 + len(inside)
        left += inside[: MOST_IN_A_FORM + 1]
    return seen > MOST_IN_A_FORM

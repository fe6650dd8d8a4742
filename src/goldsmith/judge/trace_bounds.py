"""Refuse a submission's trace, before anything else is done with it, if no honest run could have written it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goldsmith.judge.bounds import MAX_CALL_DEPTH, MAX_CALLS, MAX_FORM_VALUES, MAX_TENSORS


def refuse_absurd(index: Any) -> None:
    """Raise ValueError for more calls, tensors or values than a trace can have."""
    if not isinstance(index, list) or len(index) > MAX_CALLS:
        raise ValueError(f"it is not a trace of at most {MAX_CALLS} calls")
    for entry in index:
        if (
            not isinstance(entry, dict)
            or type(entry.get("depth")) is not int
            or not 0 <= entry["depth"] <= MAX_CALL_DEPTH
        ):
            raise ValueError(f"it is not a trace: a call in it has no depth up to {MAX_CALL_DEPTH}")
        if _length(entry.get("inputs")) + _length(entry.get("outputs")) > MAX_TENSORS:
            raise ValueError(f"a call in it has more than {MAX_TENSORS} tensors")
        if _is_long(entry.get("form")) or _is_long(entry.get("returned")) or _is_long(entry.get("gradients")):
            raise ValueError(f"a call in it has more than {MAX_FORM_VALUES} values")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_long(value: Any) -> bool:
    """Return whether a value contains more values than are ever recorded of a call."""
    left: list[Any] = [value]
    seen = 0
    while left and seen <= MAX_FORM_VALUES:
        item = left.pop()
        inside: Sequence[Any] = (
            list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else ()
        )
        seen += 1 + len(inside)
        left += inside[: MAX_FORM_VALUES + 1]
    return seen > MAX_FORM_VALUES

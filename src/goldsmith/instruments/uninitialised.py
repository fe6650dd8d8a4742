"""Uninitialised arrays filled with NaN, so that code that reads them shows it in its results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def poison_empty_arrays() -> Iterator[None]:
    """Make `np.empty` and `np.empty_like` return NaN, or the maximum of an integer dtype, within this context."""
    import numpy as np

    space = vars(np)
    before = {name: space[name] for name in ("empty", "empty_like")}

    def mark(array: Any) -> Any:
        if array.dtype.kind in "fc":
            array.fill(np.nan)
        elif array.dtype.kind in "iu":
            array.fill(np.iinfo(array.dtype).max)
        return array

    def marking(make: Any) -> Any:
        return lambda *args, **kwargs: mark(make(*args, **kwargs))

    space.update({name: marking(make) for name, make in before.items()})
    try:
        yield
    finally:
        space.update(before)

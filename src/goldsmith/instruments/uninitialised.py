"""Memory that nobody has written to, marked: what is read from it is then seen in what comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def poison_empty_arrays() -> Iterator[None]:
    """While this lasts, `np.empty` and `np.empty_like` give NaN, or the extreme of an integer dtype."""
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

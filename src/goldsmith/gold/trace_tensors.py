"""How a trace refers to its tensors: by the name they are stored under, or by what is kept in their place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from goldsmith.sketches.sketch import Sketch

HASH, SKETCH, LEFT_OUT = "#", "~", "?"
"""How a reference begins where there is only a hash, a sketch (stored under the whole reference), or nothing."""
_SKETCH = re.compile(r"~[\w.]+\|(\w+)\|((?:\d+x?)*)")


@dataclass(frozen=True)
class Hashed:
    """A tensor of which only the hash is known."""

    digest: str


class LeftOut:
    """A tensor, or another value, of which nothing is known: it is neither right nor wrong."""


NOT_KEPT = LeftOut()


def is_whole(tensor: Any) -> bool:
    """Return whether the tensor itself was kept."""
    return not isinstance(tensor, Hashed | LeftOut | Sketch)


def is_left_out(tensor: Any) -> bool:
    """Return whether nothing is known of the tensor."""
    return isinstance(tensor, LeftOut)


def sketch_reference(name: str, sketch: Sketch) -> str:
    """Return the reference of a sketch, which holds the dtype and shape of its tensor."""
    return f"{SKETCH}{name}|{sketch.dtype}|{'x'.join(map(str, sketch.shape))}"


def stored_sketch(sketch: Sketch) -> Any:
    """Return the numbers of a sketch as a trace's file stores them: the root mean square, then the sums."""
    import numpy as np

    return np.concatenate([[sketch.rms], sketch.sums])


def read_sketch(reference: str, stored: Any) -> Sketch:
    """Return the sketch that is stored under `reference`; raise ValueError if that is not one's."""
    found = _SKETCH.fullmatch(reference)
    if found is None or stored.ndim != 1 or stored.size < 2:
        raise ValueError("it is not a trace: a sketch in it is none")
    shape = tuple(int(size) for size in found[2].split("x") if size)
    return Sketch(shape, found[1], float(stored[0]), stored[1:])


def bytes_behind(reference: str, stored: Any) -> int:
    """Return how many bytes the tensor has that a sketch stands for; those of anything else as it is stored."""
    found = _SKETCH.fullmatch(reference)
    if found is not None:
        return 8 * math.prod(int(size) for size in found[2].split("x") if size)
    return int(stored.bits.nbytes if hasattr(stored, "bits") else stored.nbytes)

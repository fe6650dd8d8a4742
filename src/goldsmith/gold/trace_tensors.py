"""How a trace refers to its tensors: by the name they are stored under, or by what is kept in their place."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldsmith.gold.arrays import as_numpy, dtype_name
from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.gold.sketches.sketch import SUMS, Sketch

HASH, SKETCH, LEFT_OUT = "#", "~", "?"
"""How a reference begins where there is only a hash, a sketch (stored under the whole reference), or nothing."""
_SMALLEST_SKETCHED, _LARGEST_SKETCHED = 1e-290, 1e290
"""Sums are stored in units of the tensor: those of smaller or larger numbers would lose digits."""
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
    """Return the numbers of a sketch as a trace's file stores them: the root mean square, then the sums in its unit."""
    import numpy as np

    return np.concatenate([[1.0], sketch.sums]) * sketch.rms


def read_sketch(reference: str, stored: Any) -> Sketch:
    """Return the sketch that is stored under `reference`; raise ValueError if that is not one's."""
    found = _SKETCH.fullmatch(reference)
    if found is None or stored.ndim != 1 or stored.size < 2:
        raise ValueError("it is not a trace: a sketch in it is none")
    shape = tuple(int(size) for size in found[2].split("x") if size)
    return Sketch(shape, found[1], float(stored[0]), stored[1:] / stored[0])


def bytes_behind(reference: str, stored: Any) -> int:
    """Return how many bytes the tensor has that a sketch stands for; those of anything else as it is stored."""
    found = _SKETCH.fullmatch(reference)
    if found is not None:
        return 8 * math.prod(int(size) for size in found[2].split("x") if size)
    return int(stored.bits.nbytes if hasattr(stored, "bits") else stored.nbytes)


def with_sketches(
    tensors: Mapping[str, Any], index: Sequence[Mapping[str, Any]], above: int | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a trace with sketches in the place of its tensors, if these have more than `above` bytes in all. What has
    no more numbers than a sketch, or cannot be sketched, is kept as it is."""
    kept = dict(tensors), [dict(entry) for entry in index]
    if above is None or sum(int(item.nbytes) for item in tensors.values()) <= above:
        return kept
    names: dict[str, str] = {}
    found: dict[str, Any] = {}
    for name, tensor in tensors.items():
        sketch = _sketch_of(tensor)
        names[name] = name if sketch is None else sketch_reference(name, sketch)
        found[names[name]] = tensor if sketch is None else stored_sketch(sketch)
    for entry in kept[1]:
        for key in ("inputs", "outputs"):
            if key in entry:
                entry[key] = [names.get(name, name) for name in entry[key]]
        for key in ("state", "after"):
            if entry.get(key):
                entry[key] = {weight: names.get(name, name) for weight, name in entry[key].items()}
    return found, kept[1]


def _sketch_of(tensor: Any) -> Sketch | None:
    numbers = as_numpy(tensor)
    if numbers.dtype.kind not in "fc" or numbers.size <= SUMS + 1:
        return None
    try:
        sketch = Sketch.of(numbers, dtype_name(tensor))
    except ValueError:
        return None
    return sketch if _SMALLEST_SKETCHED < sketch.rms < _LARGEST_SKETCHED else None


def keeps_sketches(path: Path) -> bool:
    """Return whether the trace in a file has sketches in place of tensors."""
    return any(name.startswith(SKETCH) for name in open_mapped(path))

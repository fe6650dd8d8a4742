"""Pictures of tensors: gold, theirs and the difference in units of tolerance, as small PNGs.

A tensor is cut along its last two axes into slices. All slices of a tensor lie below each other in one picture, of
which a page shows one at a time. What is too large is reduced: values by taking every n-th, differences by taking the
largest, so that a single wrong element is still seen.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_SIDE = 96
"""Rows and columns of a slice that are shown."""
MAX_SLICES = 24
_SMALLEST_UNITS, _LARGEST_UNITS = 1e-3, 1e6
_NAN = 255
"""The colour of what is not a number."""
_STEPS = 200
"""Colours of the scale from the lowest to the highest value."""


@dataclass(frozen=True)
class Slices:
    """Pictures of the same slices of gold, of theirs and of the difference; `labels` name the slices, `first` is the
    one with the largest difference. `reduced` says in words what was left out."""

    gold: str
    theirs: str
    difference: str
    labels: tuple[str, ...]
    first: int
    rows: int
    columns: int
    largest: float
    reduced: str


@dataclass(frozen=True)
class Profile:
    """Along one axis, the largest difference at each index, in units of tolerance."""

    axis: int
    size: int
    units: tuple[float, ...]


def units_of_tolerance(gold: Array, theirs: Array, limit: Any) -> Array:
    """Return the size of each difference over what is tolerated; infinite where only one of the two is finite."""
    one, two = _real(gold), _real(theirs)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        units = np.full(one.shape, np.inf) if limit is None else np.abs(two - one) / np.asarray(limit)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    return np.where(same, 0.0, np.where(np.isnan(units), np.inf, units))


def cut_into_slices(gold: Array, theirs: Array, units: Array) -> Slices:
    """Draw a tensor's slices, those with the largest differences where there are too many."""
    shape = gold.shape if gold.ndim > 1 else (1, *gold.shape) if gold.ndim else (1, 1)
    outer = shape[:-2]
    count = int(np.prod(outer, dtype=int)) if outer else 1
    flat = [_real(item).reshape(count, *shape[-2:]) for item in (gold, theirs)]
    off = units.reshape(count, *shape[-2:])
    worst = off.max(axis=(1, 2))
    kept = np.sort(np.argsort(-worst, kind="stable")[:MAX_SLICES])
    finite = np.abs(flat[0][np.isfinite(flat[0])])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    step = tuple(-(-size // MAX_SIDE) for size in shape[-2:])
    values = [[_values(item[index, :: step[0], :: step[1]], largest) for index in kept] for item in flat]
    differences = [_units(_largest_of(off[index], step)) for index in kept]
    rows, columns = differences[0].shape
    return Slices(
        gold=png(np.vstack(values[0]), _DIVERGING),
        theirs=png(np.vstack(values[1]), _DIVERGING),
        difference=png(np.vstack(differences), _HEAT),
        labels=tuple(_label(int(index), outer) for index in kept),
        first=int(np.argmax(worst[kept])),
        rows=rows,
        columns=columns,
        largest=largest,
        reduced=_reduced(count, len(kept), step),
    )


def profiles(units: Array) -> tuple[Profile, ...]:
    """Return the profile along each axis that has more than one index."""
    found = []
    for axis, size in enumerate(units.shape):
        if size > 1:
            along = units.max(axis=tuple(other for other in range(units.ndim) if other != axis))
            found.append(Profile(axis, size, tuple(_largest_of(along[None], (1, -(-size // MAX_SIDE)))[0].tolist())))
    return tuple(found)


def histogram(units: Array) -> tuple[tuple[str, float], ...]:
    """Return the share of elements in each decade of the difference, over tolerance."""
    edges = [0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4]
    places = np.digitize(units.reshape(-1), edges, right=True)
    counts = np.bincount(places, minlength=len(edges) + 1) / max(units.size, 1)
    names = ["≤ 0.01", "≤ 0.1", "≤ 1", "≤ 10", "≤ 100", "≤ 1000", "≤ 10⁴", "> 10⁴"]
    return tuple(zip(names, counts.tolist(), strict=True))


def png(places: npt.NDArray[np.uint8], palette: bytes) -> str:
    """Return a picture with 256 colours as the address of an image inside a page."""
    height, width = places.shape
    raw = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(places))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _chunk(item: tuple[bytes, bytes]) -> bytes:
    name, content = item
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _real(array: Array) -> Array:
    found = np.abs(array) if np.iscomplexobj(array) else np.asarray(array)
    return found.astype("float64")


def _values(array: Array, largest: float) -> npt.NDArray[np.uint8]:
    with np.errstate(invalid="ignore"):
        scaled = np.clip(array / largest, -1.0, 1.0) * (_STEPS // 2) + _STEPS // 2
    return np.where(np.isfinite(array), np.nan_to_num(scaled), _NAN).astype(np.uint8)


def _units(units: Array) -> npt.NDArray[np.uint8]:
    """Return the place of each difference on the scale: half of it within the tolerance, half of it out of it."""
    with np.errstate(divide="ignore"):
        low, high = np.log10(_SMALLEST_UNITS), np.log10(_LARGEST_UNITS)
        decades = np.log10(np.clip(units, _SMALLEST_UNITS, _LARGEST_UNITS))
    half = _STEPS // 2
    inside = np.clip((decades - low) / -low, 0, 1) * (half - 1)
    outside = half + np.clip(decades / high, 0, 1) * (half - 1)
    places: npt.NDArray[np.uint8] = np.where(units > 1, outside, inside).astype(np.uint8)
    return places


def _largest_of(array: Array, step: tuple[int, ...]) -> Array:
    """Reduce a table to the largest element of each block."""
    rows, columns = array.shape
    above, below = -(-rows // step[0]) * step[0], -(-columns // step[1]) * step[1]
    padded = np.zeros((above, below))
    padded[:rows, :columns] = array
    largest: Array = padded.reshape(above // step[0], step[0], below // step[1], step[1]).max(axis=(1, 3))
    return largest


def _label(index: int, outer: tuple[int, ...]) -> str:
    place = np.unravel_index(index, outer) if outer else ()
    return "[" + ", ".join([*(str(int(item)) for item in place), ":", ":"]) + "]"


def _reduced(count: int, kept: int, step: tuple[int, ...]) -> str:
    parts = []
    if kept < count:
        parts.append(f"the {kept} of {count} slices with the largest differences are shown")
    if max(step) > 1:
        every = " × ".join(map(str, step))
        parts.append(
            f"of each block of {every} elements one value is shown, and of differences the largest in the block"
        )
    return "; ".join(parts)


def _palette(*stops: tuple[int, tuple[int, int, int]]) -> bytes:
    """Return a palette that runs through colours at these places; the last place is for what is not a number."""
    places = [place for place, _ in stops]
    channels = [np.interp(range(256), places, [colour[channel] for _, colour in stops]) for channel in range(3)]
    colours = np.stack(channels, axis=1).round().astype(np.uint8)
    colours[_NAN] = (214, 0, 214)
    return colours.tobytes()


_DIVERGING = _palette((0, (5, 80, 150)), (_STEPS // 2, (247, 247, 247)), (_STEPS, (178, 70, 5)))
_HEAT = _palette(
    (0, (250, 250, 250)),
    (_STEPS // 2 - 1, (196, 208, 218)),
    (_STEPS // 2, (253, 200, 140)),
    (_STEPS * 3 // 4, (215, 48, 31)),
    (_STEPS - 1, (70, 0, 10)),
)

"""Sketch a tensor: 32 sums of its elements, each with its own pseudo-random signs, over the tensor's root mean square.

The signs of element i are the bits of a hash of i (splitmix64), so that they are the same everywhere and need not be
stored. The difference of two tensors' sums is the sum of their difference: the root mean square over all sums estimates
the relative error, within about 25 % with 32 of them. This file needs NumPy and nothing else: kits carry a copy of it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

SUMS = 32
"""How many sums a sketch has, unless its tensor is too small to be kept secret from so many."""
BLOCK_ELEMENTS = 1 << 14
"""How many elements are hashed and summed at a time: their signs take 4 MiB."""
RARELY = 4.75
"""How many standard deviations of chance a sketch allows: one right tensor in a million lies farther out."""


def sign_bits(start: int, stop: int) -> Any:
    """Hash the indices from `start` to `stop`: bit j of each is the sign of that element in sum j."""
    bits = (np.arange(start, stop, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def signs(start: int, stop: int, count: int = SUMS) -> Any:
    """Return the signs of these elements as a matrix of ones and minus ones, one column for each sum."""
    shifts = np.arange(count, dtype=np.uint64)
    return ((sign_bits(start, stop)[:, None] >> shifts) & np.uint64(1)) * 2.0 - 1.0


def sums_of(numbers: Any, rms: float, count: int = SUMS) -> Any:
    """Return the sums of real numbers over their `rms`, each divided by the root of how many elements there are."""
    flat = np.asarray(numbers).reshape(-1)
    found = np.zeros(count)
    for start in range(0, flat.size, BLOCK_ELEMENTS):
        block = flat[start : start + BLOCK_ELEMENTS].astype(np.float64) / rms
        found += block @ signs(start, start + block.size, count)
    return found / math.sqrt(max(flat.size, 1))


def parts_of(array: Any) -> Any:
    """Return complex numbers as pairs along a new last axis, and all others as they are."""
    array = np.asarray(array)
    return np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array


def root_mean_square(numbers: Any) -> float:
    """Compute the root mean square without overflow, however large the numbers are; 0 for none."""
    flat = np.abs(np.asarray(numbers).reshape(-1))
    largest = float(flat.max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    size = largest * math.sqrt(float(np.mean((flat / largest).astype(np.float64) ** 2)))
    return max(size, math.ulp(0.0))


def widened(limit: float, count: int) -> float:
    """Widen a limit of the relative error by what chance adds to the estimate from `count` sums.

    The mean of `count` squares is distributed as chi-square over its degrees of freedom; this is its quantile for one
    in a million, by Wilson and Hilferty's approximation.
    """
    spread = 2.0 / (9.0 * count)
    return limit * math.pow(1.0 - spread + RARELY * math.sqrt(spread), 1.5)


class Sketch:
    """What is kept of a tensor: shape, dtype, root mean square and sums; `step` is what these were rounded to."""

    __slots__ = ("dtype", "rms", "shape", "step", "sums")

    def __init__(self, shape: tuple[int, ...], dtype: str, rms: float, sums: Any, step: float = 0.0) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype
        self.rms = float(rms)
        self.sums = np.asarray(sums, dtype=np.float64)
        self.step = float(step)

    @classmethod
    def of(cls, array: Any, dtype: str = "", count: int = SUMS) -> Sketch:
        """Sketch a NumPy array of finite numbers that are not all zero; `dtype` is its name where NumPy lacks it."""
        array = np.asarray(array)
        parts = parts_of(array)
        rms = root_mean_square(parts)
        if not 0.0 < rms < math.inf:
            raise ValueError("only finite numbers that are not all zero can be sketched")
        return cls(array.shape, dtype or str(array.dtype), rms, sums_of(parts, rms, count))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def count(self) -> int:
        return int(self.sums.size)

    def error_of(self, array: Any) -> float:
        """Estimate the relative error of `array`; infinite for another shape, and where not all numbers are finite."""
        array = np.asarray(array)
        if tuple(array.shape) != self.shape or array.dtype.kind not in "fc":
            return math.inf
        parts = parts_of(array)
        if not np.isfinite(parts).all():
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            gap = sums_of(parts, self.rms, self.count) - self.sums
            found = math.sqrt(float(np.mean(gap * gap)))
        return math.inf if math.isnan(found) else found

    def rounded(self, step: float) -> Sketch:
        """Return the sketch with its sums rounded to multiples of `step`: more digits say nothing about right work."""
        rms = float(f"{self.rms:.6g}")
        return Sketch(self.shape, self.dtype, rms, np.round(self.sums * (self.rms / rms) / step) * step, step)

    def is_same(self, other: object) -> bool:
        """Say whether two sketches are of the same tensor, as far as sketches can tell."""
        return (
            isinstance(other, Sketch)
            and (self.shape, self.dtype) == (other.shape, other.dtype)
            and self.sums.shape == other.sums.shape
            and bool(np.array_equal(self.sums, other.sums))
        )


def read_kit(folder: Path) -> dict[str, Any]:
    """Read kit.npz: the index, with arrays and sketches in their places."""
    with np.load(folder / "kit.npz", allow_pickle=False) as archive:
        kit: dict[str, Any] = json.loads(archive["index"].tobytes().decode())
        sums = archive["sums"].astype(np.float64)
        start, sketches = 0, []
        for item in kit["sketches"]:
            own = sums[start : start + item["count"]] * item["step"]
            sketches.append(Sketch(tuple(item["shape"]), item["dtype"], item["rms"], own, item["step"]))
            start += item["count"]
        kit["sketches"] = sketches
        flat = {name: archive[name] for name in {item["stored"] for item in kit["arrays"]}}
        flat = {name: np.ascontiguousarray(item.T).view(name).reshape(-1) for name, item in flat.items()}
        places, arrays = dict.fromkeys(flat, 0), []
        for item in kit["arrays"]:
            name, size = item["stored"], math.prod(item["shape"])
            arrays.append(flat[name][places[name] : places[name] + size].reshape(item["shape"]))
            places[name] += size
        kit["arrays"] = arrays
    return kit


def leaves_in(path: str, value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_in(f"{path}.{key}", item)
    else:
        yield path, value


def arrays_in(value: Any) -> list[Any]:
    """List every tensor in `value`, in order, as NumPy has it now."""
    if isinstance(value, dict | list | tuple):
        return [array for item in (value.values() if isinstance(value, dict) else value) for array in arrays_in(item)]
    return [copied(value)] if hasattr(value, "shape") else []


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    if hasattr(value, "detach"):
        return (value.detach().cpu().double() if value.is_floating_point() else value.detach().cpu()).numpy().copy()
    return np.array(value) if isinstance(value, np.ndarray) else value

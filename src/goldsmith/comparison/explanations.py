"""Explain a difference, such as a transpose or a factor. Each explanation is checked on the whole array before it is
given, because a wrong one is worse than none."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from goldsmith.comparison.blocks import Buffers, Reader, blocks_of, pages_of, release
from goldsmith.comparison.leaves import BFLOAT16, Array, DeviceLeaf, DeviceView, Form, Leaf
from goldsmith.comparison.precision_paths import route_for
from goldsmith.frameworks.framework import arrays_of

_SAMPLE = 1024
_STRIDE = 11400714819323198485  # 2**64 over the golden ratio: spreads indices evenly over any size
_PERMUTABLE = 65536
_MAPPED, _MAPPED_SAMPLE = 2**26, 48
"""In mapped files larger than this, only few elements are read out of order: each may bring 2 MiB into memory."""
_SORTABLE = 2**20
_COLUMNS = 8
_SLACK = {53: 1e-10, 24: 1e-5, 11: 2e-3, 8: 2e-2, 0: 0.0}
_SMALLER = {24: ("bfloat16", "float16"), 53: ("float32", "bfloat16", "float16")}
_SIGNIFICAND = {"bfloat16": 8, "float16": 11, "float32": 24}


def guess(actual: Leaf, gold: Leaf, largest: float, buffers: Buffers) -> str:
    """Return one sentence that explains how `actual` came out of `gold`, or "". `largest` is the largest gap between
    them, infinite if their shapes differ."""
    size = math.prod(gold.shape)
    if size < 3 or math.prod(actual.shape) != size or "b" in actual.form.kind + gold.form.kind:
        return ""
    suspect = _Suspect.of(actual, gold, buffers)
    if suspect is None or largest <= 10 * suspect.allowed:
        return ""
    same_shape = actual.shape == gold.shape
    asked = _same_shape_guesses if same_shape else _other_shape_guesses
    return next(asked(suspect), "")


@dataclass
class _Suspect:
    """The two leaves and their arrays, a sample of gold at fixed places, and the gap that counts as equal."""

    actual: Leaf
    gold: Leaf
    ours: Any
    theirs: Any
    allowed: float
    places: tuple[Array, ...]
    golds: Array
    buffers: Buffers
    is_large: bool
    """Mapped, and too large to be looked at in any order but its own."""

    @classmethod
    def of(cls, actual: Leaf, gold: Leaf, buffers: Buffers) -> _Suspect | None:
        if isinstance(actual, DeviceLeaf) and isinstance(gold, DeviceLeaf) and _can_view(actual, gold):
            device = arrays_of(gold.tensor).device_of(gold.tensor)
            ours: Any = device.view(actual.tensor)
            theirs: Any = device.view(gold.tensor)
            is_large = False
        else:
            ours, theirs = actual.array, gold.array
            is_large = any(array.nbytes > _MAPPED and pages_of(array) is not None for array in (ours, theirs))
        places = _places(gold.shape, _MAPPED_SAMPLE if is_large else _SAMPLE)
        golds = _numbers(theirs[places], gold.form)
        finite = golds[np.isfinite(golds)]
        if len(np.unique(finite[:64])) < 3 and len(np.unique(finite)) < 3:
            return None
        finer = min(actual.form.significand or 53, gold.form.significand or 53)
        slack = 0.0 if actual.form.is_exact and gold.form.is_exact else _SLACK[finer]
        spread = float(np.std(finite))
        rounding = 0.0 if not slack else 16 * 2.0**-finer * float(np.abs(finite).max())
        if not 0 < spread < math.inf or rounding > spread / 10:
            return None
        return cls(actual, gold, ours, theirs, slack * spread + rounding, places, golds, buffers, is_large)

    def fits(self, ours: Any, theirs: Any, factor: complex = 1.0, offset: complex = 0.0) -> bool:
        """Say whether all of `ours` is `factor` times `theirs` plus `offset`; a sample is checked first."""
        if ours.shape != theirs.shape or not ours.size:
            return False
        some = _places(theirs.shape, _MAPPED_SAMPLE if self.is_large else _SAMPLE)
        allowed = self.allowed * max(abs(factor), 1e-300) if factor else 0.0
        one = _numbers(ours[some], self.actual.form)
        self.release()
        two = _numbers(theirs[some], self.gold.form)
        self.release()
        if not _close(one, two * factor + offset, allowed):
            return False
        if _is_on_device(ours):
            return bool(ours.fits(theirs, factor, offset, allowed))
        route = route_for(self.actual.form, self.gold.form, self.buffers, in_single=True)
        readers = Reader(ours, "one", self.buffers), Reader(theirs, "two", self.buffers)
        number = route.working.type
        for block in blocks_of(theirs.shape):
            one = route.widen(readers[0].read(block), route.actual, "a")
            two = route.widen(readers[1].read(block), route.gold, "b")
            apart = self.buffers.take("apart" + route.working.char, route.working, block.size)
            if factor == 1:
                np.subtract(one, two, out=apart)
            else:
                np.multiply(two, number(factor), out=apart)
                np.subtract(one, apart, out=apart)
            if offset:
                np.subtract(apart, number(offset), out=apart)
            sizes = np.absolute(apart) if apart.dtype.kind == "c" else np.absolute(apart, out=apart)
            if not np.maximum.reduce(sizes) <= allowed and not _close(one, two * factor + offset, allowed):
                return False
        for reader in readers:
            reader.close()
        return True

    def release(self) -> None:
        if self.is_large:
            release(self.ours)
            release(self.theirs)


def _same_shape_guesses(suspect: _Suspect) -> Iterator[str]:
    yield from _scaled(suspect)
    yield from _rounded(suspect)
    if not suspect.is_large:
        yield from _rearranged(suspect)
        yield from _permuted(suspect)
        yield from _sorted(suspect)


def _other_shape_guesses(suspect: _Suspect) -> Iterator[str]:
    if not suspect.is_large:
        yield from _transposed(suspect)
    ours, theirs = suspect.ours, suspect.theirs
    is_flat = _is_contiguous(ours) and _is_contiguous(theirs)
    if is_flat and suspect.fits(ours.reshape(-1), theirs.reshape(-1)):
        yield f"the same numbers in the same order, as {list(ours.shape)} instead of {list(theirs.shape)}"


# --- factor and offset


def _scaled(suspect: _Suspect) -> Iterator[str]:
    ours, theirs = suspect.ours, suspect.theirs
    sample, golds = _numbers(ours[suspect.places], suspect.actual.form), suspect.golds
    finite = np.isfinite(sample) & np.isfinite(golds)
    sample, golds = sample[finite], golds[finite]
    first = sample[0].item() if sample.size else math.nan
    if bool((sample == first).all()):
        if suspect.fits(ours, theirs, 0.0, first):
            yield f"actual is {first:.6g} everywhere"
        return
    if suspect.fits(ours, theirs, -1.0):
        yield "actual is gold with its sign flipped"
    unit = float(np.abs(golds).max(initial=0.0)) or 1.0  # squares of very small or large numbers leave float64's range
    size = float(np.vdot(golds / unit, golds / unit).real)
    factor = complex(np.vdot(golds / unit, sample / unit)) / size if size else 0
    if factor.imag == 0 or golds.dtype.kind != "c":
        real = _rounded_to(factor.real, theirs.shape)
        if abs(real - 1) > 1e-4 and abs(real) > 1e-12 and suspect.fits(ours, theirs, real):
            yield f"actual is gold times {_named(real, theirs.shape)}"
    offset = (sample - golds).mean().item()
    if abs(offset) > 10 * suspect.allowed and suspect.fits(ours, theirs, 1.0, offset):
        yield f"actual is gold plus {offset:.6g}"


def _known_factors(shape: tuple[int, ...]) -> dict[str, float]:
    known = {"2": 2.0, "1/2": 0.5, "-2": -2.0, "-1/2": -0.5}
    for size in dict.fromkeys([*reversed(shape), math.prod(shape)]):
        if size > 2:
            known |= {f"{size}": size, f"1/{size}": 1 / size}
            known |= {f"sqrt({size})": math.sqrt(size), f"1/sqrt({size})": 1 / math.sqrt(size)}
    return known


def _rounded_to(factor: float, shape: tuple[int, ...]) -> float:
    """Return the known factor, such as 1/sqrt(64), that `factor` is to within rounding, else `factor`."""
    near = [known for known in _known_factors(shape).values() if abs(factor - known) < 1e-5 * abs(known)]
    return near[0] if near else factor


def _named(factor: float, shape: tuple[int, ...]) -> str:
    name = next((name for name, known in _known_factors(shape).items() if known == factor), "")
    if not name or name.lstrip("-").isdigit():
        return name or f"{factor:.6g}"
    return f"{name} ({factor:.6g})"


# --- the same numbers in other places


def _rearranged(suspect: _Suspect) -> Iterator[str]:
    ours, theirs = suspect.ours, suspect.theirs
    yield from _transposed(suspect)
    axes = [axis for axis in range(theirs.ndim) if theirs.shape[axis] > 1]
    flipped = [_flip(ours, axis) for axis in axes]
    _prefetch(flipped)
    for axis, candidate in zip(axes, flipped, strict=True):
        if suspect.fits(candidate, theirs):
            yield f"actual is gold reversed along axis {axis}"
    for axis in (axis for axis in axes if theirs.shape[axis] > 2):
        most, rest = _along(axis, slice(1, None)), _along(axis, slice(None, -1))
        one, two = (ours[most], ours[rest]), (theirs[most], theirs[rest])
        _prefetch(one)
        _prefetch(two)
        for later, way in ((0, "later"), (1, "earlier")):
            if suspect.fits(one[later], two[1 - later]) and not suspect.fits(one[later], two[later]):
                yield f"actual is gold shifted by one along axis {axis}: each entry stands one place {way}"


def _transposed(suspect: _Suspect) -> Iterator[str]:
    ours, theirs = suspect.ours, suspect.theirs
    if not 2 <= theirs.ndim <= 4 or ours.ndim != theirs.ndim:
        return
    orders = sorted(itertools.permutations(range(theirs.ndim)), key=_moved)[1:]
    candidates = [(order, ours.transpose(order)) for order in orders]
    candidates = [(order, candidate) for order, candidate in candidates if candidate.shape == theirs.shape]
    _prefetch([candidate for _, candidate in candidates])
    for order, candidate in candidates:
        if suspect.fits(candidate, theirs):
            moved = [axis for axis, place in enumerate(order) if axis != place]
            if len(moved) == 2:
                yield f"actual is gold transposed: axes {moved[0]} and {moved[1]} are swapped"
            else:
                yield f"actual is gold with its axes in another order: {np.argsort(order).tolist()}"


def _prefetch(candidates: Sequence[Any]) -> None:
    """Sample several views of one tensor on a device at once; arrays on the host are sampled as they are needed."""
    if candidates and _is_on_device(candidates[0]):
        candidates[0].prefetch(candidates, _places(candidates[0].shape, _SAMPLE))


def _is_on_device(array: object) -> TypeGuard[Any]:
    return isinstance(array, DeviceView)


def _moved(order: tuple[int, ...]) -> int:
    return sum(axis != place for axis, place in enumerate(order))


def _is_contiguous(array: Any) -> bool:
    return bool(array.is_contiguous if _is_on_device(array) else array.flags.c_contiguous)


def _flip(array: Any, axis: int) -> Any:
    return array.flip(axis) if _is_on_device(array) else np.flip(array, axis)


def _can_view(actual: DeviceLeaf, gold: DeviceLeaf) -> bool:
    """Say whether explanations can be checked on the device; complex numbers are looked at on the host."""
    return bool(actual.tensor.device == gold.tensor.device and "c" not in actual.form.kind + gold.form.kind)


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def _permuted(suspect: _Suspect) -> Iterator[str]:
    shape = suspect.gold.shape
    for axis in range(len(shape)):
        if not 3 <= shape[axis] <= _PERMUTABLE:
            continue
        first = (axis, *(other for other in range(len(shape)) if other != axis))
        ours, theirs = suspect.ours.transpose(first), suspect.theirs.transpose(first)
        order = _order(suspect, ours, theirs)
        if order is not None and _is_order(suspect, ours, theirs, order):
            yield _order_words(order, axis)


def _order(suspect: _Suspect, ours: Any, theirs: Any) -> Array | None:
    """Return which entry of `ours` each entry of `theirs` is, judged by a few of their elements; None if there is no
    such order."""
    count = ours.shape[0]
    # Slices alone give a view, which is not copied from a device.
    where: Any = (slice(None), *_places(theirs.shape[1:], _COLUMNS)) if theirs.ndim > 1 else (np.arange(count),)
    if _is_on_device(ours) and not ours.may_be_permuted(theirs, where, suspect.allowed):
        return None
    one = _numbers(ours[where], suspect.actual.form).reshape(count, -1)
    two = _numbers(theirs[where], suspect.gold.form).reshape(count, -1)
    if one.dtype.kind == "c" or not (np.isfinite(one).all() and np.isfinite(two).all()):
        return None
    if _close(one, two, suspect.allowed) or not _close(one.sum(0), two.sum(0), suspect.allowed * count):
        return None  # sorting is expensive: only sort what is in another order, and may well match
    weights = 1 + np.sqrt(np.arange(1, one.shape[1] + 1))
    from_one, from_two = (np.argsort(rows @ weights, kind="stable") for rows in (one, two))
    if not _close(one[from_one], two[from_two], suspect.allowed):
        return None
    order = np.empty(count, np.intp)
    order[from_two] = from_one
    return None if bool((order == np.arange(len(order))).all()) else order


def _is_order(suspect: _Suspect, ours: Any, theirs: Any, order: Array) -> bool:
    if _is_on_device(ours):
        return suspect.fits(ours.rows(order), theirs)
    row = theirs[0].size
    step = max(1, _SORTABLE // 4 // max(1, row))
    if row > _SORTABLE:
        return all(suspect.fits(ours[place], theirs[number]) for number, place in enumerate(order))
    starts = range(0, len(order), step)
    return all(suspect.fits(ours[order[start : start + step]], theirs[start : start + step]) for start in starts)


def _order_words(order: Array, axis: int) -> str:
    moved = np.flatnonzero(order != np.arange(len(order)))
    if len(moved) == 2:
        return f"actual is gold with entries {moved[0]} and {moved[1]} of axis {axis} swapped"
    shifts = (order - np.arange(len(order))) % len(order)
    if bool((shifts == shifts[0]).all()):
        shift = int(shifts[0]) if 2 * shifts[0] <= len(order) else int(shifts[0]) - len(order)
        return f"actual is gold shifted round by {shift} along axis {axis}"
    return f"actual is gold with the entries of axis {axis} in another order ({len(moved)} of {len(order)} moved)"


def _sorted(suspect: _Suspect) -> Iterator[str]:
    if suspect.theirs.size > _SORTABLE or "c" in suspect.actual.form.kind + suspect.gold.form.kind:
        return
    if any(leaf.form.kind == "f" and leaf.form.significand < 24 for leaf in (suspect.actual, suspect.gold)):
        return  # too coarse: any two large samples of one distribution look alike once sorted
    one, two = (_numbers(leaf.array, leaf.form).reshape(-1) for leaf in (suspect.actual, suspect.gold))
    if not all(_close(pick(one), pick(two), suspect.allowed) for pick in (np.min, np.max, np.mean)):
        return  # sorting is expensive: only sort what may well match
    one.sort()
    two.sort()
    if np.count_nonzero(np.diff(two)) >= 8 and _close(one, two, suspect.allowed):
        yield "the same numbers in another order"


# --- rounding


def _rounded(suspect: _Suspect) -> Iterator[str]:
    ours, gold = suspect.ours, suspect.gold
    for name in _SMALLER.get(gold.form.significand, ()) if gold.form.kind == "f" else ():
        near = _numbers(ours[suspect.places], suspect.actual.form), suspect.golds
        if float(np.mean(_fits_in(suspect.golds, name))) < 0.5 and _is_rounded(*near, name):
            if _is_on_device(ours):
                if ours.is_rounded(suspect.theirs, name, _unit(name), _smallest(name)):
                    yield f"actual is gold rounded to {name}"
                continue
            readers = Reader(ours, "one", suspect.buffers), Reader(suspect.theirs, "two", suspect.buffers)
            if all(
                _is_rounded(
                    _numbers(readers[0].read(block), suspect.actual.form),
                    _numbers(readers[1].read(block), gold.form),
                    name,
                )
                for block in blocks_of(gold.shape)
            ):
                yield f"actual is gold rounded to {name}"


def _is_rounded(ours: Array, theirs: Array, name: str) -> bool:
    near = np.abs(ours - theirs) <= _unit(name) * np.abs(theirs) + _smallest(name)
    return bool(near.all() and _fits_in(ours, name).all())


def _unit(name: str) -> float:
    """Return the largest relative error of rounding to a dtype, doubled."""
    return float(2.0 ** (1 - _SIGNIFICAND[name]))


def _smallest(name: str) -> float:
    """Return the absolute error of rounding numbers that are too small for a dtype's full precision."""
    return 6e-8 if name == "float16" else 0.0


def _fits_in(numbers: Array, name: str) -> Any:
    if name == "bfloat16":
        single = numbers.astype(np.float32)
        return (single == numbers) & ((single.view(np.uint32) & 0xFFFF) == 0)
    return numbers.astype(name).astype(np.float64) == numbers


# --- numbers


@functools.lru_cache(maxsize=32)
def _places(shape: tuple[int, ...], most: int) -> tuple[Array, ...]:
    """Return the indices of a few elements spread over the whole array, the same every time."""
    size = math.prod(shape)
    flat = np.arange(min(size, most))
    if size > most:
        flat = (flat.astype(np.uint64) * np.uint64(_STRIDE) >> np.uint64(11)).astype(np.int64) % size
    return np.unravel_index(flat, shape) if shape else ()


def _numbers(array: Array, form: Form) -> Array:
    """Return a small array as float64 or complex128."""
    if form is BFLOAT16 and array.dtype.kind == "u":
        array = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(np.complex128 if form.kind == "c" else np.float64)


def _close(one: Any, two: Any, allowed: float) -> bool:
    return bool(np.all((np.abs(one - two) <= allowed) | (one == two)))

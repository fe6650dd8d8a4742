"""Explain a difference, such as a transpose or a factor. Each explanation is checked on the whole array before it is
given, because a wrong one is worse than none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldsmith.comparison.blocks import Buffers, Reader, blocks_of, pages_of, release
from goldsmith.comparison.leaves import BFLOAT16, Array, Form, Leaf
from goldsmith.comparison.precision_paths import route_for

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
    if gold.array.size < 3 or actual.array.size != gold.array.size or "b" in actual.form.kind + gold.form.kind:
        return ""
    suspect = _Suspect.of(actual, gold, buffers)
    if suspect is None or largest <= 10 * suspect.allowed:
        return ""
    same_shape = actual.array.shape == gold.array.shape
    asked = _same_shape_guesses if same_shape else _other_shape_guesses
    return next(asked(suspect), "")


@dataclass
class _Suspect:
    """The two leaves, a sample of gold at fixed places, and the gap that counts as equal."""

    actual: Leaf
    gold: Leaf
    allowed: float
    places: tuple[Array, ...]
    golds: Array
    buffers: Buffers
    is_large: bool
    """Mapped, and too large to be looked at in any order but its own."""

    @classmethod
    def of(cls, actual: Leaf, gold: Leaf, buffers: Buffers) -> _Suspect | None:
        is_large = any(leaf.array.nbytes > _MAPPED and pages_of(leaf.array) is not None for leaf in (actual, gold))
        places = _places(gold.array.shape, _MAPPED_SAMPLE if is_large else _SAMPLE)
        golds = _numbers(gold.array[places], gold.form)
        finite = golds[np.isfinite(golds)]
        if len(np.unique(finite[:64])) < 3 and len(np.unique(finite)) < 3:
            return None
        finer = min(actual.form.significand or 53, gold.form.significand or 53)
        slack = 0.0 if actual.form.is_exact and gold.form.is_exact else _SLACK[finer]
        spread = float(np.std(finite))
        rounding = 0.0 if not slack else 16 * 2.0**-finer * float(np.abs(finite).max())
        if not 0 < spread < math.inf or rounding > spread / 10:
            return None
        return cls(actual, gold, slack * spread + rounding, places, golds, buffers, is_large)

    def fits(self, ours: Array, theirs: Array, factor: complex = 1.0, offset: complex = 0.0) -> bool:
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
            release(self.actual.array)
            release(self.gold.array)


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
    ours, theirs = suspect.actual.array, suspect.gold.array
    if ours.flags.c_contiguous and theirs.flags.c_contiguous and suspect.fits(ours.reshape(-1), theirs.reshape(-1)):
        yield f"the same numbers in the same order, as {list(ours.shape)} instead of {list(theirs.shape)}"


# --- factor and offset


def _scaled(suspect: _Suspect) -> Iterator[str]:
    ours, theirs = suspect.actual.array, suspect.gold.array
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
    size = float(np.vdot(golds, golds).real)
    factor = complex(np.vdot(golds, sample)) / size if size else 0
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
    ours, theirs = suspect.actual.array, suspect.gold.array
    yield from _transposed(suspect)
    for axis in range(theirs.ndim):
        if theirs.shape[axis] > 1 and suspect.fits(np.flip(ours, axis), theirs):
            yield f"actual is gold reversed along axis {axis}"
    for axis in range(theirs.ndim):
        if theirs.shape[axis] < 3:
            continue
        most, rest = _along(axis, slice(1, None)), _along(axis, slice(None, -1))
        for later, earlier, way in ((most, rest, "later"), (rest, most, "earlier")):
            if suspect.fits(ours[later], theirs[earlier]) and not suspect.fits(ours[later], theirs[later]):
                yield f"actual is gold shifted by one along axis {axis}: each entry stands one place {way}"


def _transposed(suspect: _Suspect) -> Iterator[str]:
    ours, theirs = suspect.actual.array, suspect.gold.array
    if not 2 <= theirs.ndim <= 4 or ours.ndim != theirs.ndim:
        return
    orders = sorted(itertools.permutations(range(theirs.ndim)), key=_moved)
    for order in orders[1:]:
        if suspect.fits(ours.transpose(order), theirs):
            moved = [axis for axis, place in enumerate(order) if axis != place]
            if len(moved) == 2:
                yield f"actual is gold transposed: axes {moved[0]} and {moved[1]} are swapped"
            else:
                yield f"actual is gold with its axes in another order: {np.argsort(order).tolist()}"


def _moved(order: tuple[int, ...]) -> int:
    return sum(axis != place for axis, place in enumerate(order))


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def _permuted(suspect: _Suspect) -> Iterator[str]:
    shape = suspect.gold.array.shape
    for axis in range(len(shape)):
        if not 3 <= shape[axis] <= _PERMUTABLE:
            continue
        ours, theirs = np.moveaxis(suspect.actual.array, axis, 0), np.moveaxis(suspect.gold.array, axis, 0)
        order = _order(suspect, ours, theirs)
        if order is not None and _is_order(suspect, ours, theirs, order):
            yield _order_words(order, axis)


def _order(suspect: _Suspect, ours: Array, theirs: Array) -> Array | None:
    """Return which entry of `ours` each entry of `theirs` is, judged by a few of their elements; None if there is no
    such order."""
    where: Any = (slice(None), *_places(theirs.shape[1:], _COLUMNS))
    one = _numbers(ours[where], suspect.actual.form).reshape(len(ours), -1)
    two = _numbers(theirs[where], suspect.gold.form).reshape(len(ours), -1)
    if one.dtype.kind == "c" or not (np.isfinite(one).all() and np.isfinite(two).all()):
        return None
    weights = 1 + np.sqrt(np.arange(1, one.shape[1] + 1))
    from_one, from_two = (np.argsort(rows @ weights, kind="stable") for rows in (one, two))
    if not _close(one[from_one], two[from_two], suspect.allowed):
        return None
    order = np.empty(len(ours), np.intp)
    order[from_two] = from_one
    return None if bool((order == np.arange(len(order))).all()) else order


def _is_order(suspect: _Suspect, ours: Array, theirs: Array, order: Array) -> bool:
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
    if suspect.gold.array.size > _SORTABLE or "c" in suspect.actual.form.kind + suspect.gold.form.kind:
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
    ours, gold = suspect.actual.array, suspect.gold
    for name in _SMALLER.get(gold.form.significand, ()) if gold.form.kind == "f" else ():
        near = _numbers(ours[suspect.places], suspect.actual.form), suspect.golds
        if float(np.mean(_fits_in(suspect.golds, name))) < 0.5 and _is_rounded(*near, name):
            readers = Reader(ours, "one", suspect.buffers), Reader(gold.array, "two", suspect.buffers)
            if all(
                _is_rounded(
                    _numbers(readers[0].read(block), suspect.actual.form),
                    _numbers(readers[1].read(block), gold.form),
                    name,
                )
                for block in blocks_of(gold.array.shape)
            ):
                yield f"actual is gold rounded to {name}"


def _is_rounded(ours: Array, theirs: Array, name: str) -> bool:
    unit = 2.0 ** (1 - _SIGNIFICAND[name])
    near = np.abs(ours - theirs) <= unit * np.abs(theirs) + (6e-8 if name == "float16" else 0.0)
    return bool(near.all() and _fits_in(ours, name).all())


def _fits_in(numbers: Array, name: str) -> Any:
    if name == "bfloat16":
        single = numbers.astype(np.float32)
        return (single == numbers) & ((single.view(np.uint32) & 0xFFFF) == 0)
    return numbers.astype(name).astype(np.float64) == numbers


# --- numbers


def _places(shape: tuple[int, ...], most: int = _SAMPLE) -> tuple[Array, ...]:
    """Return the indices of a few elements spread over the whole array, the same every time."""
    size = math.prod(shape)
    if size <= most:
        flat = np.arange(size)
    else:
        flat = (np.arange(most, dtype=np.uint64) * np.uint64(_STRIDE) >> np.uint64(11)).astype(np.int64) % size
    return np.unravel_index(flat, shape) if shape else ()


def _numbers(array: Array, form: Form) -> Array:
    """Return a small array as float64 or complex128."""
    if form is BFLOAT16:
        array = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(np.complex128 if form.kind == "c" else np.float64)


def _close(one: Any, two: Any, allowed: float) -> bool:
    return bool(np.all((np.abs(one - two) <= allowed) | (one == two)))

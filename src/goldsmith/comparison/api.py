"""`compare`: match the leaves of two nested values and judge each pair within its tolerance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from goldsmith.comparison.blocks import Buffers, lent_buffers, memory_order
from goldsmith.comparison.explanations import guess
from goldsmith.comparison.leaf_result import empty_leaf, from_pass, mismatch, plain_values, unmatched
from goldsmith.comparison.leaves import FORMS, Array, DeviceLeaf, Form, Leaf, leaf_of
from goldsmith.comparison.limits import Limit, default_limit, limit_of
from goldsmith.comparison.numeric_pass import Pass
from goldsmith.comparison.pairs import ABSENT, Pair, pairs_of
from goldsmith.comparison.precision_paths import ComputePath, route_for
from goldsmith.comparison.results import Comparison, LeafComparison
from goldsmith.comparison.sketched import compare_sketched
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.gold.tolerances import Tolerance
from goldsmith.gold.trace_tensors import LeftOut

_PARTS = {"complex64": "float32", "complex128": "float64"}


def compare(
    actual: Any,
    gold: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    tolerances: Mapping[str, Tolerance] | None = None,
    noisy: Mapping[str, Any] | None = None,
    equal_nan: bool | Collection[str] = False,
    check_dtype: bool | Collection[str] = True,
    guessing: bool = True,
) -> Comparison:
    """Compare `actual` with `gold`: nested dicts, lists, tuples and dataclasses of tensors, arrays, numbers and text,
    or paths of .safetensors, .npy, .npz and .pt files. The result is true if there is something to compare and all of
    it agrees.

    A leaf's tolerance is that of `tolerances` at its dotted path; else `rtol` and `atol` (the one not given is 0):
    |actual - gold| <= atol + rtol * |gold|, as if in float64; else what torch.testing documents for its dtype, for the
    less precise of both sides, and exact for integers, booleans and text. NaN agrees with NaN only with `equal_nan`
    (True, or the paths it holds for); an infinity only with the same one. Nothing is ever broadcast. Another dtype
    never agrees, unless `check_dtype` is False, or holds the paths at which float32 and float64 are interchangeable.
    Without `guessing`, no explanation of a difference is looked for.
    """
    for name, given in (("rtol", rtol), ("atol", atol)):
        if given is not None and not 0 <= given < math.inf:
            raise ValueError(f"{name} is {given}; give a number from 0 up.")
    given_limit = Limit("given", rtol, atol) if rtol is not None or atol is not None else None
    with np.errstate(all="ignore"), lent_buffers() as buffers:
        engine = _Engine(given_limit, tolerances or {}, noisy or {}, equal_nan, check_dtype, buffers, guessing)
        kept = (pair for pair in pairs_of(actual, gold) if not isinstance(pair.gold, LeftOut))
        return Comparison(tuple(engine.leaf(pair) for pair in kept))


class _Engine:
    """The settings of one `compare` call, with limits and compute paths cached by dtype."""

    def __init__(
        self,
        given: Limit | None,
        tolerances: Mapping[str, Tolerance],
        noisy: Mapping[str, Any],
        equal_nan: bool | Collection[str],
        check_dtype: bool | Collection[str],
        buffers: Buffers,
        guessing: bool,
    ) -> None:
        self._given = given
        self._tolerances = tolerances
        self._noisy = noisy
        self._equal_nan = equal_nan
        self._check_dtype = check_dtype
        self._buffers = buffers
        self._guessing = guessing
        self._defaults: dict[tuple[str, str], Limit] = {}
        self._routes: dict[tuple[str, str, bool], ComputePath] = {}

    def leaf(self, pair: Pair) -> LeafComparison:
        path, notes = pair.path, (pair.note,) if pair.note else ()
        if pair.clash is not None:
            return mismatch(path, "type", *pair.clash, notes=notes)
        if isinstance(pair.gold, Sketch):
            if pair.actual is ABSENT:
                return mismatch(path, "missing", "", pair.gold.dtype, (), pair.gold.shape)
            return compare_sketched(path, pair.actual, pair.gold, self._tolerances.get(path), notes)
        if pair.actual is ABSENT:
            return unmatched(path, "missing", pair.gold)
        if pair.gold is ABSENT:
            return unmatched(path, "extra", pair.actual)
        ours, theirs = leaf_of(pair.actual, path), leaf_of(pair.gold, path)
        if isinstance(ours, Leaf) and isinstance(theirs, Leaf):
            return self._numbers(path, ours, theirs, notes)
        return plain_values(path, ours, theirs, notes)

    def _numbers(self, path: str, ours: Leaf, gold: Leaf, notes: tuple[str, ...]) -> LeafComparison:
        if ours.shape != gold.shape:
            said = guess(ours, gold, math.inf, self._buffers) if self._guessing else ""
            return mismatch(path, "shape", ours.dtype, gold.dtype, ours.shape, gold.shape, said, notes)
        limit = self._limit(path, ours, gold)
        same_dtype = self._same_dtype(path, ours, gold)
        if not math.prod(gold.shape):
            return empty_leaf(path, ours, gold, limit, same_dtype, notes)
        noisy = self._noisy.get(path) if self._noisy else None
        by_parts = limit.by_parts and (ours.form.kind == "c" or gold.form.kind == "c")
        if isinstance(gold, DeviceLeaf) and isinstance(ours, DeviceLeaf) and noisy is None:
            result = self._on_device(path, ours, gold, limit, by_parts, same_dtype, notes)
            if result is not None:
                return result
        one, two = ours.array, gold.array
        if by_parts:
            one, two = _parts(one), _parts(two)
            notes = (*notes, "complex numbers count as two")
        elif one.ndim == 0:
            one, two = one.reshape(1), two.reshape(1)
        order = memory_order(one, two)
        if order is not None:
            one, two = one.transpose(order), two.transpose(order)
        mask = _mask(path, noisy, gold.array.shape, by_parts, order) if noisy is not None else None
        found = self._run(path, ours, gold, (one, two), mask, limit, by_parts)
        return from_pass(path, ours, gold, found, limit, same_dtype, order, notes, guessing=self._guessing)

    def _on_device(
        self,
        path: str,
        ours: DeviceLeaf,
        gold: DeviceLeaf,
        limit: Limit,
        by_parts: bool,
        same_dtype: bool,
        notes: tuple[str, ...],
    ) -> LeafComparison | None:
        """Compare two leaves on the device that both are on; return None if the host has to."""
        if by_parts and ours.form.kind != gold.form.kind:
            return None
        route = route_for(_part_of(ours.form, by_parts), _part_of(gold.form, by_parts), self._buffers, False)
        device = arrays_of(gold.tensor).device_of(gold.tensor)
        compared = device.compare(ours, gold, by_parts, route, limit, self._nan_agrees(path))
        if compared is None:
            return None
        found, order = compared
        notes = (*notes, "complex numbers count as two") if by_parts else notes
        return from_pass(path, ours, gold, found, limit, same_dtype, order, notes, guessing=self._guessing)

    def _nan_agrees(self, path: str) -> bool:
        return self._equal_nan if isinstance(self._equal_nan, bool) else path in self._equal_nan

    def _same_dtype(self, path: str, ours: Leaf, gold: Leaf) -> bool:
        if isinstance(self._check_dtype, bool):
            return not self._check_dtype or _same_dtype(ours, gold)
        alike = path in self._check_dtype and {ours.form.name, gold.form.name} == {"float32", "float64"}
        return alike or _same_dtype(ours, gold)

    def _run(
        self,
        path: str,
        ours: Leaf,
        gold: Leaf,
        arrays: tuple[Array, Array],
        mask: Array | None,
        limit: Limit,
        parts: bool,
    ) -> Pass:
        equal_nan = self._nan_agrees(path)
        forms = _part_of(ours.form, parts), _part_of(gold.form, parts)
        route = self._route(*forms, mask is None and limit.fits_single)
        found = Pass(route, limit, equal_nan)
        found.run(*arrays, mask)
        if found.unsure:
            found = Pass(route.double, limit, equal_nan)
            found.run(*arrays, mask)
        return found

    def _route(self, ours: Form, gold: Form, single: bool) -> ComputePath:
        key = ours.name, gold.name, single
        found = self._routes.get(key)
        if found is None:
            found = self._routes[key] = route_for(ours, gold, self._buffers, single)
        return found

    def _limit(self, path: str, ours: Leaf, gold: Leaf) -> Limit:
        if self._tolerances and path in self._tolerances:
            return limit_of(self._tolerances[path])
        if self._given is not None:
            return self._given
        key = ours.form.name, gold.form.name
        found = self._defaults.get(key)
        if found is None:
            found = self._defaults[key] = default_limit(ours.form, gold.form)
        return found


# --- dtypes, parts and masks


def _same_dtype(ours: Leaf, gold: Leaf) -> bool:
    if ours.form is gold.form and ours.python == gold.python:
        return True
    return (ours.python or gold.python) and ours.form.kind == gold.form.kind


def _parts(array: Array) -> Array:
    """Return complex numbers as pairs along a new last axis, without a copy; real ones get an imaginary part of
    zero."""
    if array.dtype.kind != "c":
        return np.stack([array, np.zeros_like(array)], axis=-1)
    real = array.real
    shape, strides = (*array.shape, 2), (*array.strides, array.itemsize // 2)
    return np.lib.stride_tricks.as_strided(real, shape, strides, writeable=False)


def _part_of(form: Form, by_parts: bool) -> Form:
    """Return the form of the parts of complex numbers."""
    return FORMS[_PARTS.get(form.name, form.name)] if by_parts else form


def _mask(path: str, noisy: Any, shape: tuple[int, ...], by_parts: bool, order: tuple[int, ...] | None) -> Array:
    mask = np.asarray(noisy, dtype=bool)
    wanted = (*shape, 2) if by_parts else shape
    if by_parts and mask.shape == shape:
        mask = np.stack([mask, mask], axis=-1)
    if mask.shape != wanted:
        raise ValueError(f"noisy[{path!r}] has shape {list(mask.shape)}, its leaf has {list(wanted)}.")
    if mask.ndim == 0:
        mask = mask.reshape(1)
    return mask.transpose(order) if order is not None else mask

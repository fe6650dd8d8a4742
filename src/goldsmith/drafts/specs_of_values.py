"""Derive specs from values that were passed to a call."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from goldsmith.drafts.specs import (
    BINARY,
    BOOLEANS,
    CAUSAL,
    COUNTED,
    INTEGERS,
    NORMAL,
    ONE_HOT,
    ORDER,
    PREFIX,
    RANGE,
    SHARES,
    SYMMETRIC,
    UNIFORM,
    Array,
    Built,
    Code,
    Group,
    Literal,
    Named,
    Spec,
    Steps,
    Unknown,
)
from goldsmith.frameworks.framework import framework_of
from goldsmith.gold.arrays import as_numpy, dtype_name, is_array, is_tensor
from goldsmith.weights.values import array_like

_MAX_ITEMS, _MAX_ENTRIES, _MAX_ARRAYS, _MAX_TEXT_CHARS = 40, 600, 3, 400
_MAX_DEPTH = 5


class Reader:
    """A reader of specs, which remembers how objects of the course were built."""

    def __init__(self) -> None:
        self._built: dict[int, tuple[Any, Built]] = {}

    def note_built(self, made: Any, spec: Built) -> None:
        """Remember how an object was built, and keep the object, so that its id is not reused."""
        self._built.setdefault(id(made), (made, spec))

    def read(self, value: Any, depth: int = 0) -> Spec:
        if depth > _MAX_DEPTH:
            return Unknown("something nested deeply")
        if id(value) in self._built:
            return self._built[id(value)][1]
        if value is None or isinstance(value, bool | int | float | complex):
            return Literal(value) if type(value) in (bool, int, float, complex, type(None)) else Unknown(repr(value))
        if isinstance(value, str | bytes):
            return Literal(value[:_MAX_TEXT_CHARS])
        if is_array(value):
            return Code("jax.random.key(1)") if dtype_name(value).startswith("key<") else read_array(value)
        if isinstance(value, set | frozenset):
            plain = all(type(item) in (str, int, bytes) for item in value)
            return Literal(set(sorted(value)[:_MAX_ITEMS])) if plain else Unknown("a set")
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            return self._sequence(value, depth)
        return self._object(value, depth)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Spec:
        pairs = list(itertools.islice(value.items(), _MAX_ENTRIES))
        items = [self.read(item, depth + 1) for _, item in pairs]
        keys = tuple(key for key, _ in pairs)
        if not all(isinstance(key, str | int | bytes | tuple) for key in keys):
            return Unknown("a dict with keys that cannot be written down")
        if all(isinstance(item, Literal) for item in items):
            return Literal({key: item.value for key, item in zip(keys, items, strict=True)})  # type: ignore[attr-defined]
        return Group("dict", tuple(items), keys)

    def _sequence(self, value: Any, depth: int) -> Spec:
        items = [self.read(item, depth + 1) for item in value[:_MAX_ITEMS]]
        kind = "list" if isinstance(value, list) else "tuple"
        if all(isinstance(item, Literal) for item in items):
            plain = [item.value for item in items]  # type: ignore[attr-defined]
            return Literal(plain if kind == "list" else tuple(plain))
        return Group(kind, tuple(items[:_MAX_ARRAYS] if kind == "list" else items))

    def _object(self, value: Any, depth: int) -> Spec:
        torch = sys.modules.get("torch")
        if torch is not None:
            if isinstance(value, torch.optim.Optimizer) and type(value).__module__.startswith("torch."):
                return Steps(type(value).__name__, (("lr", value.defaults.get("lr", 0.1)),))
            if isinstance(value, torch.dtype | torch.device):
                return Code(repr(value).replace("device(", "torch.device("))
            if isinstance(value, torch.utils.data.DataLoader):
                return self._sequence(list(itertools.islice(iter(value), _MAX_ARRAYS)), depth)
        if inspect.isfunction(value) or inspect.isclass(value) or inspect.isbuiltin(value):
            module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")
            if name.isidentifier() and getattr(sys.modules.get(module), name, None) is value:
                return Named(module, name)
            return Unknown(f"the function {name}")
        found = array_like(value)
        if found is not None and type(value).__qualname__.isidentifier():
            inner = read_array(found)
            return Built(type(value).__module__, type(value).__name__, (("", inner),), holds_array=True)
        return Unknown(f"a {type(value).__name__}")


def read_array(value: Any) -> Array:
    """Return the shape of an array, and the plainest distribution that it could have been drawn from."""
    library = library_of(value)
    shape = tuple(int(size) for size in value.shape)
    dtype = dtype_name(value)
    numbers = as_numpy(value) if is_tensor(value) else np.asarray(value)
    if numbers.dtype.kind == "b":
        causal = len(shape) == 2 and shape[0] == shape[1] and bool((numbers == np.tril(np.ones(shape, bool))).all())
        return Array(library, shape, CAUSAL if causal else BOOLEANS)
    if numbers.dtype.kind in "iu":
        return _whole_numbers(library, shape, numbers, dtype if dtype != _usual(library, "int") else "")
    usual = _usual(library, "float")
    draw, low, high = _distribution(numbers)
    other = dtype if dtype != usual or draw == PREFIX else ""  # which is drawn as whole numbers
    return Array(library, shape, draw, low=low, high=high, dtype=other)


def library_of(value: Any) -> str:
    """Name the library of an array: NumPy for anything that has none."""
    found = framework_of(value)
    return found.name if found is not None else "numpy"


def _usual(library: str, kind: str) -> str:
    """Return the dtype that numbers have unless another is asked for."""
    narrow = {"torch": ("float",), "jax": ("float", "int")}.get(library, ())
    return f"{kind}32" if kind in narrow else f"{kind}64"


def _whole_numbers(library: str, shape: tuple[int, ...], numbers: Any, dtype: str) -> Array:
    if len(shape) == 1 and shape[0] > 2 and bool((np.sort(numbers) == np.arange(shape[0])).all()):
        counted = bool((numbers == np.arange(shape[0])).all())
        return Array(library, shape, COUNTED if counted else ORDER, dtype=dtype)
    if len(shape) == 2 and _are_prefixes(numbers):
        return Array(library, shape, PREFIX, dtype=dtype)
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 1)
    return Array(library, shape, INTEGERS, low=low, high=max(high, low + 1) + 1, dtype=dtype)


def _are_prefixes(numbers: Any) -> bool:
    """Say whether rows begin with a one and have only zeros from their first zero on, as masks of padding do."""
    binary = bool(np.isin(numbers, (0, 1)).all()) and numbers.size > 0
    return binary and bool((numbers[:, 0] == 1).all()) and bool((np.diff(numbers, axis=1) <= 0).all())


def _distribution(numbers: Any) -> tuple[str, float, float]:
    """Return a distribution that keeps to what is seen: a sign, the kind of number, sums of rows, symmetry."""
    plain = (NORMAL, 0, 2)
    finite = bool(np.isfinite(numbers).all()) and numbers.size > 0
    if not finite or numbers.dtype.kind == "c" or float(np.ptp(numbers)) == 0:
        return plain
    low, high = float(numbers.min()), float(numbers.max())
    rows = numbers.sum(-1) if numbers.ndim else numbers
    shares = low >= 0 and numbers.ndim and np.allclose(rows, 1, atol=1e-4)
    if bool(np.isin(numbers, (0, 1)).all()):
        prefixes = numbers.ndim == 2 and _are_prefixes(numbers)
        return (ONE_HOT if shares else PREFIX if prefixes else BINARY), 0, 2
    if shares:
        return SHARES, 0, 2
    if numbers.ndim == 2 and numbers.shape[0] == numbers.shape[1] and np.allclose(numbers, numbers.T):
        return SYMMETRIC, 0, 2
    if low < 0:
        return plain
    return (UNIFORM, 0, 2) if high <= 1 else (RANGE, float(f"{low:.3g}"), float(f"{high:.3g}"))

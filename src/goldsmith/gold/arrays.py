"""Convert arrays of any library to bytes, hashes and statistics. NumPy is imported on first use,
other libraries never."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import arrays_of, framework_of
from goldsmith.gold.facts import JUDGED_SECTIONS, LeafFacts
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.gold.sizes import root_mean_square

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")
_PLAIN = {
    type(None): "none",
    bool: "bool (Python)",
    int: "int (Python)",
    float: "float (Python)",
    str: "str",
    bytes: "bytes",
}
_SHOWN_BYTES = 64


class Computed(Mapping[str, T]):
    """A mapping whose values are made each time they are asked for, and not kept: what is too large to have at once."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


def is_array(value: object) -> bool:
    """Say whether a value is an array of any library in use."""
    return framework_of(value) is not None


def is_tensor(value: object) -> bool:
    """Say whether a value is an array of another library than NumPy."""
    found = framework_of(value)
    return found is not None and found.name != "numpy"


def is_inexact(array: Any) -> bool:
    """Say whether an array holds floating or complex numbers."""
    return dtype_name(array).startswith(("float", "bfloat", "complex"))


def is_floating(array: Any) -> bool:
    """Say whether an array holds floating, real numbers."""
    return dtype_name(array).startswith(("float", "bfloat"))


def is_number(value: Any) -> bool:
    """Say whether a value is a number, or an array of any library, or what is read of one."""
    return hasattr(value, "shape") or (isinstance(value, int | float) and not isinstance(value, bool))


def dtype_name(array: Any) -> str:
    found = framework_of(array)
    return found.arrays.dtype(array) if found is not None else str(array.dtype)


def leaves_of(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return every leaf of a payload by its dotted path."""
    return dict(walk(dict(payload)))


def as_numpy(value: Any) -> Any:
    """Convert a tensor, array or number to NumPy without loss: a tensor's floats become float64, `Bfloat16` becomes
    float32."""
    import numpy as np

    if isinstance(value, Bfloat16):
        return (value.bits.astype(np.uint32) << 16).view(np.float32)
    if is_tensor(value):
        array = as_numpy(arrays_of(value).to_numpy(value))
        return array.astype(np.float64) if array.dtype.kind == "f" else array
    return np.asarray(value)


def judged_leaves(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numeric leaves that another implementation is compared on: among outputs and trained weights."""
    return numeric_leaves(judged_part(payload))


def numeric_leaves(leaves: Mapping[str, Any]) -> dict[str, Any]:
    return {path: leaf for path, leaf in leaves.items() if is_array(leaf) or isinstance(leaf, int | float)}


def judged_part(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return all leaves that another implementation is compared on, numbers or not, by path."""
    return leaves_of({key: value for key, value in payload.items() if key in JUDGED_SECTIONS})


def numbers_of(value: Any) -> Any:
    """Return a leaf as float64; a complex one as its two parts along a new last axis."""
    import numpy as np

    array = as_numpy(value)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], axis=-1)
    return np.asarray(array, dtype=np.float64)


def difference_of(one: Any, two: Any) -> Any:
    """Subtract `two` from `one` element by element; NaN in both, or the same infinity, counts as no difference."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        return np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, one - two)


def leaf_facts(path: str, value: Any) -> LeafFacts:
    """Return type, shape, hash and statistics of one leaf; statistics are over the finite elements."""
    import numpy as np

    if not is_array(value):
        return _plain_facts(path, value)
    numbers = _as_numbers(value)
    nan = np.isnan(numbers)
    inf = np.isinf(numbers)
    bad = np.argwhere(nan | inf)
    finite = numbers[~(nan | inf)] if len(bad) else numbers.reshape(-1)
    return LeafFacts(
        path=path,
        dtype=dtype_name(value),
        shape=tuple(int(size) for size in value.shape),
        sha256=array_hash(value),
        nan=int(nan.sum()),
        inf=int(inf.sum()),
        first_bad=tuple(int(index) for index in bad[0]) if len(bad) else None,
        min=_rounded_float(finite.min()) if finite.size else None,
        max=_rounded_float(finite.max()) if finite.size else None,
        mean=_rounded_float(finite.mean()) if finite.size else None,
        rms=_rounded_float(root_mean_square(finite)) if finite.size else None,
        constant=numbers.size > 1 and not bool(nan.any()) and _is_constant(as_numpy(value), numbers),
    )


def _is_constant(array: Any, numbers: Any) -> bool:
    """Say whether all elements are the same: not only in float64, which does not hold every whole number, and not only
    in magnitude."""
    exact = array if array.dtype.kind in "iuc" else numbers
    return bool((exact == exact.flat[0]).all())


def array_hash(value: Any) -> str:
    """Hash dtype, shape and bytes."""
    digest = hashlib.sha256(f"{dtype_name(value)}|{','.join(str(int(size)) for size in value.shape)}|".encode())
    digest.update(arrays_of(value).raw_bytes(value))
    return digest.hexdigest()


def _plain_facts(path: str, value: Any) -> LeafFacts:
    name = _PLAIN.get(type(value), "other")
    digest = hashlib.sha256(f"{name}|{value!r}".encode()).hexdigest()
    if isinstance(value, float) and not math.isfinite(value):
        return LeafFacts(path, name, (), digest, nan=int(math.isnan(value)), inf=int(math.isinf(value)), first_bad=())
    if isinstance(value, int | float):
        number = float(value)
        return LeafFacts(path, name, (), digest, min=number, max=number, mean=number, value=value)
    if isinstance(value, bytes):
        more = f"… ({len(value)} bytes)" if len(value) > _SHOWN_BYTES else ""
        return LeafFacts(path, name, (), digest, value=f"{value[:_SHOWN_BYTES]!r}{more}")
    return LeafFacts(path, name, (), digest, value=str(value) if name == "other" else value)


def _as_numbers(array: Any) -> npt.NDArray[np.float64]:
    """Return the values as float64 for statistics; complex numbers by their magnitude."""
    import numpy as np

    array = as_numpy(array)
    with np.errstate(invalid="ignore"):  # a signalling NaN is no less a NaN
        return np.asarray(np.abs(array) if np.iscomplexobj(array) else array, dtype=np.float64)


def _rounded_float(number: Any) -> float:
    """Round to nine digits: enough to read, too few to change with the last bits of a sum."""
    return float(f"{float(number):.9g}")


def is_numeric(leaf: Any) -> bool:
    """Say whether a leaf is an array, of any library or none."""
    return is_array(leaf) or isinstance(leaf, Bfloat16)


def like(numbers: Any, template: Any) -> Any:
    """Return numbers in the dtype and library of a template."""
    import numpy as np

    if isinstance(template, Bfloat16):
        return Bfloat16((numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    if isinstance(template, np.ndarray):
        return numbers.astype(template.dtype)
    arrays = arrays_of(template)
    return arrays.cast(arrays.like(numbers, template), arrays.dtype(template))

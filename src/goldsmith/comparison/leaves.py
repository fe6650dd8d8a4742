"""Turn any leaf into a lossless NumPy view: tensors, arrays, numbers, mapped files. Torch is only imported to load
.pt."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from goldsmith.errors.recipe import MissingPackage
from goldsmith.foundation.syntax import parsing
from goldsmith.frameworks.framework import arrays_of, writer_of
from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.safetensors_reader import Bfloat16, open_mapped

Array = npt.NDArray[Any]


class NotComparable(TypeError):
    """Raised for a leaf that has no numbers to compare. The message names it and the next step."""

    def __init__(self, path: str, what: str, step: str) -> None:
        self.path = path
        super().__init__(f"{path or 'value'} is {what}, which cannot be compared; {step}.")


@dataclass(frozen=True, eq=False)
class Form:
    """A number type: its name, its kind ("b", "i", "f" or "c"), its precision in bits of the significand, and the
    tolerances that torch.testing documents for it."""

    name: str
    kind: str
    significand: int = 0
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def is_exact(self) -> bool:
        return self.kind in "bi"


FORMS = {
    form.name: form
    for form in (
        Form("bool", "b"),
        *(Form(f"{sign}int{bits}", "i") for sign in ("", "u") for bits in (8, 16, 32, 64)),
        Form("float16", "f", 11, 1e-3, 1e-5),
        Form("bfloat16", "f", 8, 1.6e-2, 1e-5),
        Form("float32", "f", 24, 1.3e-6, 1e-5),
        Form("float64", "f", 53, 1e-7, 1e-7),
        Form("complex64", "c", 24, 1.3e-6, 1e-5),
        Form("complex128", "c", 53, 1e-7, 1e-7),
    )
}
BFLOAT16 = FORMS["bfloat16"]
_PYTHON = {bool: FORMS["bool"], int: FORMS["int64"], float: FORMS["float64"], complex: FORMS["complex128"]}
_OF_DTYPE: dict[Any, Form] = {np.dtype(name): form for name, form in FORMS.items() if form is not BFLOAT16}
_OF_TENSOR: dict[Any, Form | None] = {}


class Leaf:
    """A leaf with numbers. `array` holds a bfloat16's bits as uint16; `python` marks a plain Python number."""

    __slots__ = ("array", "form", "python")

    def __init__(self, array: Array, form: Form, python: bool = False) -> None:
        self.array = array
        self.form = form
        self.python = python

    @property
    def dtype(self) -> str:
        return self.form.name if not self.python else f"{self.form.name.rstrip('0123456789')} (Python)"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def item(self, index: tuple[int, ...]) -> Any:
        """Return one element as a Python number."""
        value = self.array.item(index)
        return np.uint32(value << 16).view(np.float32).item() if self.form is BFLOAT16 else value


class DeviceLeaf(Leaf):
    """A large tensor on an accelerator. It is compared there; `array` copies it to the host, for whatever cannot."""

    __slots__ = ("_copy", "tensor")

    def __init__(self, tensor: Any, form: Form) -> None:
        self.tensor = tensor
        self.form = form
        self.python = False
        self._copy: Array | None = None

    @property
    def array(self) -> Array:  # type: ignore[override]
        if self._copy is None:
            self._copy = _host_copy(self.tensor)
        return self._copy

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    def item(self, index: tuple[int, ...]) -> Any:
        return self.tensor[index].item()


class DeviceView:
    """A view of a tensor on a device, whose elements are copied to the host only where they are asked for; a
    framework's own (`frameworks/torch/device_pass.py`) knows how."""


class Plain:
    """A leaf without an array: text, None, bytes, a number that no array can hold."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def dtype(self) -> str:
        return "None" if self.value is None else type(self.value).__name__


def leaf_of(value: Any, path: str) -> Leaf | Plain:
    """Return `value` as a view of its numbers, copied only from another device or byte order, or as a `Plain` value."""
    kind = type(value)
    if kind is np.ndarray:
        form = _OF_DTYPE.get(value.dtype)
        return Leaf(value, form) if form is not None else _array(value, path)
    if kind in _PYTHON:
        return _python(value)
    if is_tensor(value):
        return _tensor(value, path)
    if value is None or isinstance(value, bytes):
        return Plain(value)
    if isinstance(value, str):
        return Plain(str(value))
    if isinstance(value, Bfloat16):
        return Leaf(np.asarray(value.bits), BFLOAT16)
    return _foreign(value, path)


def _as(known: Any, value: Any) -> Any:
    return known(value)


def _python(value: Any) -> Leaf | Plain:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return Plain(value)
    return Leaf(np.asarray(value), _PYTHON[type(value)], python=True)


def _array(array: Array, path: str) -> Leaf:
    dtype = array.dtype
    if dtype.name == "bfloat16":  # ml_dtypes
        return Leaf(array.view(np.uint16), BFLOAT16)
    form = FORMS.get(dtype.name) if dtype.kind in "biufc" else None
    if form is None and (small := _small(dtype)) is not None:
        return Leaf(arrays_of(array).to_numpy(array), small)
    if form is None:
        raise NotComparable(path, f"an array of {dtype}", "convert it to numbers with .astype")
    if not dtype.isnative:
        return Leaf(array.astype(dtype.newbyteorder("=")), form)
    _OF_DTYPE[dtype] = form
    return Leaf(array, form)


@functools.cache
def _small(dtype: Any) -> Form | None:
    """Return the form of a float or integer of few bits that `ml_dtypes` adds to NumPy; None for any other dtype. They
    are compared exactly unless a tolerance is given, with their numbers in wider arrays, whose bits say nothing."""
    if getattr(getattr(dtype, "type", None), "__module__", "") != "ml_dtypes":
        return None
    return Form(dtype.name, "i" if "int" in dtype.name else "f")


def _tensor(tensor: Any, path: str) -> Leaf:
    arrays = arrays_of(tensor)
    refused = arrays.refusal(tensor)
    if refused is not None:
        raise NotComparable(path, *refused)
    form = _OF_TENSOR.get(tensor.dtype)
    form = form or _OF_TENSOR.setdefault(tensor.dtype, FORMS.get(arrays.dtype(tensor)) or _small(tensor.dtype))
    if form is None:
        raise NotComparable(path, f"a tensor of {tensor.dtype}", "convert it with .float() or .to(torch.complex64)")
    if arrays.device_of(tensor) is not None:
        return DeviceLeaf(arrays.detached(tensor), form)
    return Leaf(_host_copy(tensor), form)


def _host_copy(tensor: Any) -> Array:
    host = arrays_of(tensor).to_numpy(tensor)
    found: Array = host.bits if isinstance(host, Bfloat16) else host
    return found


def _foreign(value: Any, path: str) -> Leaf | Plain:
    kind = type(value).__name__
    if isinstance(value, np.ma.MaskedArray):
        raise NotComparable(path, "a masked array", "say what stands behind the mask with .filled(...)")
    if isinstance(value, np.ndarray):
        plain = value.view(np.ndarray)
        return Leaf(plain, _OF_DTYPE[plain.dtype]) if plain.dtype in _OF_DTYPE else _array(plain, path)
    if hasattr(value, "todense") or hasattr(value, "to_dense"):
        raise NotComparable(path, f"a sparse {kind}", "convert it with .to_dense() or .toarray()")
    for known in (bool, int, float, complex):
        if isinstance(value, known) and not isinstance(value, np.generic):
            return _python(_as(known, value))
    try:
        if hasattr(value, "__array__"):
            return _array(np.asarray(value).view(np.ndarray), path)
        if hasattr(value, "__dlpack__"):
            return _array(np.from_dlpack(value), path)
    except NotComparable:
        raise
    except Exception as error:
        raise NotComparable(path, f"a {kind} that gives no array ({error})", "convert it to a NumPy array") from None
    raise NotComparable(path, f"a {kind}", "give arrays, numbers, text or None, in dicts and lists")


def opened(path: Path) -> Any:
    """Read a file: safetensors and .npy mapped into memory, .npz read, .pt with torch's safe loader."""
    match path.suffix:
        case ".safetensors":
            return dict(open_mapped(path))
        case ".npy":
            with parsing:
                return np.load(path, mmap_mode="r", allow_pickle=False)
        case ".npz" | ".pt" | ".pth":
            return _load(path)
    raise ValueError(f"{path} cannot be compared: its name ends in none of .safetensors, .npy, .npz and .pt.")


def _load(path: Path) -> Any:
    library = writer_of(".npz" if path.suffix == ".npz" else ".pt")
    try:
        return library.arrays.load(path, mapped=True)
    except ModuleNotFoundError as missing:
        if missing.name != library.name:
            raise
        raise MissingPackage(library.name, path.name) from None

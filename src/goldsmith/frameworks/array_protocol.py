"""What a framework offers for its arrays: the functions of its module `arrays`. The others are in `protocols.py`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol


class Arrays(Protocol):
    """A library's arrays."""

    TYPES: tuple[type, ...]
    """The classes of its arrays."""
    WHOLE: str
    """The dtype that whole numbers usually have."""

    def wide(self) -> contextlib.AbstractContextManager[None]:
        """Allow numbers of 64 bits within this context, in a library that must be told so."""
        ...

    def dtype(self, array: Any) -> str:
        """Name an array's dtype, as all libraries do: `float32`."""
        ...

    def to_numpy(self, array: Any) -> Any:
        """Return the same numbers on the host, as an array of NumPy or, for a dtype that NumPy lacks, `Bfloat16`; those
        of 8-bit floats, which it lacks, too, as float64."""
        ...

    def raw_bytes(self, array: Any) -> memoryview:
        """Return the bytes of its numbers, in the order of its axes."""
        ...

    def from_numpy(self, array: Any, dtype: str = "") -> Any:
        """Return what `to_numpy` returns as an array of this library, in another dtype if one is named."""
        ...

    def received(self, array: Any) -> Any:
        """Return what `to_numpy` returns as an array such as the user's own code would make of it."""
        ...

    def like(self, values: Any, template: Any) -> Any:
        """Return an array of any library as one of this library, on the template's device."""
        ...

    def copy(self, array: Any) -> Any:
        """Copy the numbers, where they are; no gradients go back to the original."""
        ...

    def host_copy(self, array: Any) -> Any:
        """Copy the numbers to the host, in the order of the axes."""
        ...

    def detached(self, array: Any) -> Any:
        """Return the array without its history."""
        ...

    def learning_as(self, array: Any, template: Any) -> Any:
        """Let gradients be recorded for an array if they are for the template."""
        ...

    def learning(self, array: Any) -> Any:
        """Return the same numbers without history, with gradients recorded for them; None where none can be."""
        ...

    def learns(self, array: Any) -> bool:
        """Say whether gradients are recorded for an array."""
        ...

    def place(self, array: Any, device: str) -> Any:
        """Return an array on a device."""
        ...

    def cast(self, array: Any, dtype: str) -> Any:
        """Return floating numbers in a dtype, complex ones in the one with such parts."""
        ...

    def moved(self, array: Any, device: Any, dtype: str) -> Any:
        """Return a fresh copy on a device, floating numbers in a dtype if one is named."""
        ...

    def shifted(self, array: Any, moves: Any) -> Any:
        """Add an array of NumPy, in this array's dtype."""
        ...

    def overwrite(self, array: Any, values: Any) -> None:
        """Write other numbers into an array; one that is immutable raises `TypeError`."""
        ...

    def alias(self, array: Any) -> Any:
        """Return another array of the same memory; what is written through it, the array does not count as a change."""
        ...

    def stressed(self, array: Any, name: str, seed: int) -> Any:
        """Redraw a floating array from its name and a seed, in place where that can be; None for any other array."""
        ...

    def concatenate(self, parts: Sequence[Any], axis: int = 0) -> Any:
        """Join arrays along an axis."""
        ...

    def stack(self, parts: Sequence[Any], axis: int = 0) -> Any:
        """Join arrays along a new axis."""
        ...

    def as_pairs(self, array: Any) -> Any:
        """Return complex numbers as pairs along a new last axis."""
        ...

    def equal(self, one: Any, two: Any) -> bool:
        """Say whether two arrays of this library have the same shape and numbers."""
        ...

    def memory_id(self, array: Any) -> int:
        """Return where an array's memory begins, which arrays may share."""
        ...

    def is_dense(self, array: Any) -> bool:
        """Say whether every element is stored."""
        ...

    def is_storable(self, array: Any) -> bool:
        """Say whether a file can hold its numbers for other readers."""
        ...

    def refusal(self, array: Any) -> tuple[str, str] | None:
        """Say what an array is whose numbers cannot be compared, and what to do; None if they can."""
        ...

    def is_inference(self, array: Any) -> bool:
        """Say whether no gradients can ever be recorded for an array."""
        ...

    def unwrapped(self, array: Any) -> Any:
        """Return the array behind what code sees inside the library's transformations."""
        ...

    def device_of(self, array: Any) -> Any:
        """Return what compares a large array on its device (`frameworks/torch/device_pass.py`); None for the host."""
        ...

    def save(self, payload: Mapping[str, Any], file: IO[bytes]) -> None:
        """Write nested arrays and plain values as the library's own files are."""
        ...

    def load(self, path: Path, *, mapped: bool = False) -> Any:
        """Read such a file, which may be forged; mapped into memory, where that can be."""
        ...

    def save_tensors(self, tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> bytes:
        """Encode arrays by name, those of NumPy too, as a safetensors file."""
        ...

    def load_tensors(self, path: Path) -> dict[str, Any]:
        """Read a safetensors file as arrays of this library."""
        ...

"""What is in the tensors that a call was given or returned: their hashes, and copies of them."""

from __future__ import annotations

from typing import Any

from goldsmith.foundation.nested import leaves_in
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import array_hash
from goldsmith.gold.call_forms import tensors_in


def hash_of(array: Any) -> str | None:
    """Hash an array; return None for a tensor without storage, such as weights inside torch.func's transformations."""
    try:
        return array_hash(array)
    except RuntimeError:
        return None


def contents_of(values: Any) -> set[str]:
    """Return hashes and plain values in `values`, by which they can be recognised."""
    hashes = (hash_of(unwrapped(tensor)) for tensor in tensors_in(values))
    found = {content for content in hashes if content is not None}
    return found | {repr(leaf) for leaf in leaves_in(values) if type(leaf) in (int, float, str, bytes)}


def copy_of(array: Any) -> Any:
    """Return a copy on the CPU of the current numbers."""
    return arrays_of(array).host_copy(array)


def is_wrapped(array: Any) -> bool:
    """Return whether an array is what code sees inside one of the library's transformations."""
    return unwrapped(array) is not array


def unwrapped(array: Any) -> Any:
    """Return the array behind what code sees inside the library's transformations: all items of a batch, for one."""
    return arrays_of(array).unwrapped(array)

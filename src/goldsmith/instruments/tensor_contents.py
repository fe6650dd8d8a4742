"""What is in the tensors that a call was given or returned: their hashes, and copies of them."""

from __future__ import annotations

import sys
from typing import Any

from goldsmith.foundation.nested import leaves_in
from goldsmith.gold.arrays import array_hash, is_tensor
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
    if not is_tensor(array):
        return array.copy(order="C")
    import torch

    return array.detach().cpu().clone(memory_format=torch.contiguous_format)


def is_wrapped(array: Any) -> bool:
    """Return whether an array is what code sees inside one of torch.func's transformations."""
    return is_tensor(array) and sys.modules["torch"]._C._functorch.is_functorch_wrapped_tensor(array)


def unwrapped(array: Any) -> Any:
    """Return the tensor behind what code sees inside torch.func's transformations: all items of a batch, for one."""
    while is_wrapped(array):
        functorch = sys.modules["torch"]._C._functorch
        axis = functorch.maybe_get_bdim(array)
        array = functorch.get_unwrapped(array)
        array = array if axis < 0 else array.movedim(axis, 0)
    return array

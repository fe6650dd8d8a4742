"""A device that refuses to meet another, for machines that have only a CPU.

Its tensors claim to lie on torch's `meta` device, which has a place in autograd and never holds numbers, and keep their
own aside on the CPU. Whatever brings one together with an ordinary tensor raises what CUDA raises. Imported by the
recipes of test courses; after that `--device meta` computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_map, tree_map_only

DEVICE = torch.device("meta")
_MIXES = ("copy_", "index", "index_put_", "to", "_to_copy", "type_as")


class Strict(torch.Tensor):
    """A tensor on the device; `kept` has its numbers."""

    kept: torch.Tensor

    @staticmethod
    def __new__(cls, kept: torch.Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            kept.size(),
            strides=kept.stride(),
            storage_offset=kept.storage_offset(),
            dtype=kept.dtype,
            device=DEVICE,
        )
        made.kept = kept
        return made

    def untyped_storage(self) -> Any:
        return self.kept.untyped_storage()

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        return f"Strict({self.kept!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return on_device(func, args, kwargs or {})


class Everywhere(TorchDispatchMode):
    """Sees to what is made on the device, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return on_device(func, args, kwargs or {})


def on_device(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors: list[torch.Tensor] = []
    tree_map_only(torch.Tensor, tensors.append, (args, kwargs))
    strict = [item for item in tensors if isinstance(item, Strict)]
    name = func.overloadpacket.__name__
    if strict and name not in _MIXES and any(item.dim() for item in tensors if not isinstance(item, Strict)):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two, meta and cpu! ({name})"
        )
    wanted = next((item for item in (kwargs.get("device"), *args) if isinstance(item, torch.device)), None)
    if name in ("to", "type_as") and len(tensors) > 1:
        wanted = tensors[1].device
    goes = bool(strict) if wanted is None else wanted == DEVICE
    if name == "copy_":
        goes = isinstance(args[0], Strict)
    if not strict and not goes:
        return func(*args, **kwargs)
    found = func(*tree_map(_kept, args), **tree_map(_kept, kwargs))
    if not goes:
        return found
    wrapped = tree_map(lambda item: Strict(item) if isinstance(item, torch.Tensor) else item, found)
    return return_and_correct_aliasing(func, args, kwargs, wrapped) if strict and name not in _MIXES[3:] else wrapped


def _kept(item: Any) -> Any:
    if isinstance(item, torch.device):
        return torch.device("cpu")
    return item.kept if isinstance(item, Strict) else item


Everywhere().__enter__()

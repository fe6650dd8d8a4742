"""Tensors of torch."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import torch

from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import is_array
from goldsmith.gold.safetensors_reader import Bfloat16

TYPES = (torch.Tensor,)
WHOLE = "int64"
_STORABLE = frozenset(
    (
        "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
        "float16", "bfloat16", "float32", "float64", "complex64",
    )
)  # fmt: skip
"""Dtypes that a file can hold for other readers: no quantised and no 8-bit floating-point ones."""
_WIDE = {"float64": torch.complex128, "float32": torch.complex64}
COMPARED_ON = ("cuda",)
"""Types of device whose tensors are compared where they are; those of others are copied to the host."""
MIN_DEVICE_SIZE = 2**16
"""Elements; a smaller tensor is copied sooner than a kernel's results are."""


def wide() -> contextlib.AbstractContextManager[None]:
    """Do nothing: arrays may have any dtype."""
    return contextlib.nullcontext()


def dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# --- numbers on the host


def to_numpy(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return Bfloat16(tensor.detach().cpu().view(torch.int16).numpy().view(np.uint16))
    try:
        return tensor.numpy(force=True)
    except TypeError:  # a dtype that NumPy lacks, as 8-bit floating-point ones
        return tensor.detach().cpu().double().numpy()


def raw_bytes(tensor: Any) -> memoryview:
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return memoryview(flat.view(torch.uint8).numpy()) if flat.numel() else memoryview(b"")


def from_numpy(array: Any, dtype: str = "") -> Any:
    if isinstance(array, torch.Tensor):
        return array
    if isinstance(array, Bfloat16):
        return torch.from_numpy(_writable(array.bits).view("i2")).view(torch.bfloat16)
    found = torch.from_numpy(_writable(array))
    return found.to(getattr(torch, dtype)) if dtype else found


def _writable(array: Any) -> Any:
    """Return an array, or a copy of one whose memory belongs to a library that does not write into its arrays."""
    return array if array.flags.writeable else array.copy()


def received(array: Any) -> Any:
    return from_numpy(array)


def like(values: Any, template: Any) -> Any:
    return from_numpy(values).to(template.device)


# --- copies


def copy(tensor: Any) -> Any:
    return tensor.detach().clone()


def host_copy(tensor: Any) -> Any:
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def detached(tensor: Any) -> Any:
    return tensor.detach()


def learning_as(tensor: Any, template: Any) -> Any:
    return tensor.requires_grad_(template.requires_grad)


def learning(tensor: Any) -> Any:
    return tensor.detach().requires_grad_()


def learns(tensor: Any) -> bool:
    return bool(tensor.requires_grad)


def place(tensor: Any, device: str) -> Any:
    return tensor.detach().to(device).requires_grad_(tensor.requires_grad)


def cast(tensor: Any, dtype: str) -> Any:
    return tensor.to(_WIDE[dtype] if tensor.is_complex() else getattr(torch, dtype))


def moved(tensor: Any, device: Any, dtype: str) -> Any:
    wide = getattr(torch, dtype) if dtype else None
    if wide is not None and tensor.is_complex():
        wide = torch.complex128 if wide is torch.float64 else tensor.dtype
    kind = wide if wide is not None and (tensor.is_floating_point() or tensor.is_complex()) else tensor.dtype
    found = tensor.detach().to(device=device, dtype=kind)
    return found.clone() if found.data_ptr() == tensor.data_ptr() or found is tensor else found


def shifted(tensor: Any, moves: Any) -> Any:
    moved = tensor.detach() + torch.from_numpy(moves).to(tensor)
    return moved.requires_grad_(tensor.requires_grad)


def overwrite(tensor: Any, values: Any) -> None:
    with torch.no_grad():
        tensor.copy_(values)


def alias(tensor: Any) -> Any:
    return tensor.data  # unlike `detach`, it has a version of its own


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    return torch.cat(list(parts), dim=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    return torch.stack(list(parts), dim=axis)


def as_pairs(tensor: Any) -> Any:
    return torch.view_as_real(tensor.resolve_conj())


# --- facts


def equal(one: Any, two: Any) -> bool:
    return torch.equal(one, two.to(one.device))


def memory_id(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def is_dense(tensor: Any) -> bool:
    return not (tensor.is_sparse or tensor.layout != torch.strided or tensor.is_quantized)


def is_storable(tensor: Any) -> bool:
    return tensor.layout == torch.strided and dtype(tensor) in _STORABLE


def refusal(tensor: Any) -> tuple[str, str] | None:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return "a sparse or nested tensor", "convert it with .to_dense()"
    if tensor.is_quantized:
        return "a quantised tensor", "convert it with .dequantize()"
    if tensor.device.type == "meta":
        return "a tensor without data (device meta)", "compute it on a real device"
    return None


def is_inference(tensor: Any) -> bool:
    return bool(tensor.is_inference())


def unwrapped(tensor: Any) -> Any:
    """Return the tensor behind what code sees inside torch.func's transformations: all items of a batch, for one."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        axis = functorch.maybe_get_bdim(tensor)
        tensor = functorch.get_unwrapped(tensor)
        tensor = tensor if axis < 0 else tensor.movedim(axis, 0)
    return tensor


def device_of(tensor: Any) -> ModuleType | None:
    """Return what compares this tensor where it is; None if it is compared on the host."""
    if tensor.device.type not in COMPARED_ON or tensor.numel() < MIN_DEVICE_SIZE:
        return None
    from goldsmith.frameworks.torch import device_pass

    return device_pass


# --- values of the `stress` profile


def stressed(tensor: Any, name: str, seed: int) -> Any:
    """Redraw a tensor in place; return None if it holds numbers that cannot be."""
    if not tensor.is_floating_point():
        return None
    tensor.detach().copy_(stress_values(name, tensor, seed, is_table=False))
    return tensor


def stress_values(name: str, weight: torch.Tensor, seed: int, is_table: bool) -> torch.Tensor:
    if weight.dim() >= 2:
        fan_in = 1 if is_table else math.prod(weight.shape[1:]) or 1
        return torch.randn(weight.shape, generator=_generator(name, seed)) / math.sqrt(fan_in)
    centre = weight.detach().cpu()
    return centre + uniform(name, weight, seed, 0.1, 0.5) * _signs(name, weight, seed)


def uniform(name: str, like: torch.Tensor, seed: int, low: float, high: float) -> torch.Tensor:
    return torch.rand(like.shape, generator=_generator(name, seed)) * (high - low) + low


def _signs(name: str, like: torch.Tensor, seed: int) -> torch.Tensor:
    return torch.randint(0, 2, like.shape, generator=_generator(f"{name} sign", seed)) * 2.0 - 1.0


def _generator(name: str, seed: int) -> torch.Generator:
    """Make a separate generator for each weight, so that adding one does not change the others."""
    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


# --- files


def save(payload: Mapping[str, Any], file: IO[bytes]) -> None:
    def storable(leaf: Any) -> Any:
        if is_array(leaf):
            return _own(leaf)
        return _EmptyBytes() if type(leaf) is bytes and not leaf else leaf

    torch.save(map_tree(storable, dict(payload)), file)  # of a path, torch would write the name into the archive


def load(path: Path, *, mapped: bool = False) -> Any:
    if mapped:
        try:
            return torch.load(path, mmap=True, weights_only=True, map_location="cpu")
        except RuntimeError:  # written before torch 1.6: not an archive that can be mapped
            pass
    return torch.load(path, weights_only=True, map_location="cpu")


def save_tensors(tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    from safetensors.torch import save

    return save({name: _own(item) for name, item in tensors.items()}, metadata)


def _own(array: Any) -> Any:
    """Return an array of any library as a tensor."""
    if isinstance(array, torch.Tensor | np.ndarray | Bfloat16):
        return from_numpy(array)
    host = arrays_of(array).to_numpy(array)  # it may not be written to, which torch warns of
    return from_numpy(Bfloat16(host.bits.copy()) if isinstance(host, Bfloat16) else host.copy())


def load_tensors(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(path)


class _EmptyBytes(bytes):
    """Empty bytes, pickled like any others: torch's safe loader refuses what pickle calls for empty ones."""

    def __reduce__(self) -> Any:
        return codecs.encode, ("", "latin1")

"""Arrays of JAX: immutable, and float64 only where they are made under `enable_x64`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core

from goldsmith.frameworks.framework import arrays_of, framework
from goldsmith.gold.safetensors_reader import Bfloat16

TYPES = (jax.Array,)
WHOLE = "int32"
_COMPLEX = {"float64": "complex128"}


def wide(allowed: bool = True) -> Any:
    """Allow float64 and int64 within this context; elsewhere JAX narrows them to 32 bits without a word."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(allowed)
    from jax.experimental import enable_x64  # until JAX 0.8

    return enable_x64(allowed)


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Evaluate operations as JAX does within this context; inside of a transformation, all stays as it is."""
    is_observed = getattr(core.trace_ctx.trace, "is_observing", False)
    with core.set_current_trace(core.eval_trace) if is_observed else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def exactly() -> Iterator[None]:
    """Handle arrays of any dtype within this context, and let nobody see it."""
    with wide(), unobserved():
        yield


# --- numbers on the host


def to_numpy(array: Any) -> Any:
    return framework("numpy").arrays.to_numpy(_host(array))


def raw_bytes(array: Any) -> memoryview:
    return framework("numpy").arrays.raw_bytes(_host(array))


def _host(array: Any) -> Any:
    """Return an array of NumPy with the dtypes of `ml_dtypes`, which cannot be written to."""
    refused = refusal(array)
    if refused is not None:
        raise RuntimeError(f"{refused[0]} has no numbers that can be read; {refused[1]}")
    return np.asarray(array, order="C")


def from_numpy(array: Any, dtype: str = "") -> Any:
    if isinstance(array, jax.Array):
        return array
    if isinstance(array, Bfloat16):
        array = array.bits.view(jnp.bfloat16)
    with exactly():
        return jnp.array(array, dtype=dtype or None)  # a copy, where `asarray` may share memory that changes


def received(array: Any) -> Any:
    return jnp.array(array.bits.view(jnp.bfloat16) if isinstance(array, Bfloat16) else array)


def like(values: Any, template: Any) -> Any:
    found = values if isinstance(values, jax.Array) else from_numpy(arrays_of(values).to_numpy(values))
    with exactly():
        if template.weak_type:  # of Python's numbers, which take the dtype of what they meet
            from jax._src.lax.lax import _convert_element_type

            found = _convert_element_type(found, found.dtype, weak_type=True)
        return found if isinstance(template, jax.core.Tracer) else jax.device_put(found, template.sharding)


# --- copies


def copy(array: Any) -> Any:
    now = contextlib.nullcontext() if isinstance(array, jax.core.Tracer) else jax.ensure_compile_time_eval()
    with exactly(), now:  # of numbers that code finds inside of `jit`, a copy would have none
        return jnp.array(array, copy=True)


def host_copy(array: Any) -> Any:
    _host(array)
    copied = copy(array)
    with exactly(), jax.ensure_compile_time_eval(), contextlib.suppress(RuntimeError):  # where there is no CPU
        return jax.device_put(copied, jax.devices("cpu")[0])
    return copied


def learns(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))  # nothing says of an array that no gradients go through it


def place(array: Any, device: Any) -> Any:
    with exactly():
        return jax.device_put(array, device_named(device) if isinstance(device, str) else device)


def device_named(device: str) -> Any:
    """Return a device by its name in any library, such as `cuda:1`; raise `RuntimeError` where there is none."""
    platform, _, number = device.partition(":")
    found = jax.devices(platform)
    if not 0 <= int(number or 0) < len(found):
        raise RuntimeError(f"there is no device {device} here")
    return found[int(number or 0)]


def cast(array: Any, dtype: str) -> Any:
    with exactly():
        if not jnp.issubdtype(array.dtype, jnp.complexfloating):
            return array.astype(dtype)
        return array.astype(_COMPLEX.get(dtype, "complex64"))


def shifted(array: Any, moves: Any) -> Any:
    with exactly():
        return array + jnp.asarray(moves).astype(array.dtype)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    with exactly():
        return jnp.concatenate(list(parts), axis=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    with exactly():
        return jnp.stack(list(parts), axis=axis)


def as_pairs(array: Any) -> Any:
    with exactly():
        return jnp.stack([array.real, array.imag], axis=-1)


# --- facts


def memory_id(array: Any) -> int:
    """Return where its memory begins; of an array on several devices, that of its first part."""
    if isinstance(array, jax.core.Tracer) or array.is_deleted() or _is_key(array):
        return id(array)
    return int(array.addressable_shards[0].data.unsafe_buffer_pointer())


def is_storable(array: Any) -> bool:
    known = refusal(array) is None and (array.dtype == jnp.bfloat16 or array.dtype.kind in "biufc")
    return known and array.dtype.itemsize <= 8


def refusal(array: Any) -> tuple[str, str] | None:
    if isinstance(array, jax.core.Tracer):
        return "a value inside a transformation of JAX", "return it from there, or call the function without jit"
    if _is_key(array):
        return "a random key", "give what is drawn with it, or jax.random.key_data(key)"
    if array.is_deleted():
        return "an array whose memory was donated or deleted", "copy it before it is given away (donate_argnums)"
    if not array.is_fully_addressable:
        return "an array that is in part on devices of other processes", "gather it with process_allgather"
    return None


def _is_key(array: Any) -> bool:
    return bool(jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key))


def unwrapped(array: Any) -> Any:
    """Return the array behind what code sees inside of `grad` and `vmap`: all items of a batch, for one. Inside of
    `jit` there is none."""
    while isinstance(array, jax.core.Tracer):
        if hasattr(array, "primal"):
            array = array.primal
        elif hasattr(array, "val") and type(getattr(array, "batch_dim", None)) in (int, type(None)):
            with exactly():
                array = array.val if not array.batch_dim else jnp.moveaxis(array.val, array.batch_dim, 0)
        else:
            break
    return array


def overwrite(array: Any, values: Any) -> None:
    raise TypeError("an array of JAX cannot be written to")


# --- files, which are NumPy's: they are read without JAX

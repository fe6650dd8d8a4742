"""How torch computes: conditions of a run, and noise for arrays."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from goldsmith.foundation.on_import import when_imported
from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.torch.float64_mode import in_float64, noting_dtypes, to_float64
from goldsmith.frameworks.torch.gradients import backward as backward
from goldsmith.frameworks.torch.gradients import backward_total as backward_total
from goldsmith.frameworks.torch.gradients import gradients_of as gradients_of
from goldsmith.frameworks.torch.gradients import passed_back as passed_back
from goldsmith.frameworks.torch.gradients import vjp as vjp
from goldsmith.frameworks.torch.observers import noting_draws, noting_optimisers, record_op_outputs
from goldsmith.frameworks.torch.rounding_noise import rounding_noise

disturbs_operations = True
_COMPILER_SETTINGS = "torch._inductor.config"


@contextlib.contextmanager
def conditions(
    watch: Watch,
    *,
    precision: str = "",
    watched: bool = False,
    lightly: bool = False,
    tf32: bool = False,
    noise: int | None = None,
    narrowed: bool = False,
    marked_memory: bool | None = None,
    note_dtypes: bool = False,
    keep_outputs: bool = False,
    note_optimisers: bool = False,
    on_draw: Callable[[], None] | None = None,
) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if marked_memory is not None:
            stack.enter_context(_memory(marked=marked_memory))
        if tf32:
            stack.enter_context(_tf32())
        if precision == "float64":
            stack.enter_context(in_float64(torch, watch, watched=watched, lightly=lightly))
        elif precision:
            stack.enter_context(_default_dtype(getattr(torch, precision)))
        if noise is not None:
            stack.enter_context(rounding_noise(torch, watch, noise, narrowed=narrowed))
        if note_dtypes:
            stack.enter_context(noting_dtypes(torch, watch))
        if keep_outputs:
            stack.enter_context(record_op_outputs(watch.outputs))
        if note_optimisers:
            stack.enter_context(noting_optimisers(watch.optimisers))
        if on_draw is not None:
            stack.enter_context(noting_draws(on_draw))
        yield


@contextlib.contextmanager
def _memory(*, marked: bool) -> Iterator[None]:
    """Set whether torch fills uninitialised memory with NaN."""
    settings: Any = torch.utils.deterministic
    before = settings.fill_uninitialized_memory
    settings.fill_uninitialized_memory = marked
    try:
        yield
    finally:
        settings.fill_uninitialized_memory = before


@contextlib.contextmanager
def _tf32() -> Iterator[None]:
    """Allow TF32 in matrix products and convolutions."""
    convolutions: Any = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), convolutions.allow_tf32
    torch.set_float32_matmul_precision("high")
    convolutions.allow_tf32 = True
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        convolutions.allow_tf32 = before[1]


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def widened(array: Any) -> Any:
    """Return an array as a float64 run has it: float32 as float64, complex64 as complex128."""
    return to_float64(array, torch)


def disturb(array: Any, generator: np.random.Generator, least: float = 0.0) -> Any:
    drawn = generator.uniform(-1, 1, tuple(array.shape))
    wide = torch.complex128 if array.is_complex() else torch.float64
    values = array.detach().to("cpu", wide).numpy()  # in NumPy: torch operations would be disturbed, too
    moved = values * (1 + drawn * max(torch.finfo(array.dtype).eps, least))
    if not array.is_complex():
        moved = np.where(values == np.round(values), values, moved)
    return torch.from_numpy(np.asarray(moved)).to(array.device, array.dtype)


def undisturbed() -> Any:
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()


setting_up = contextlib.nullcontext


def source_name(value: Any) -> str:
    return ""


def reseeded(value: Any, seed: int) -> Any:
    return value


def without_gradients() -> Any:
    return torch.no_grad()


def with_gradients() -> Any:
    return torch.enable_grad()


def records_gradients() -> bool:
    return torch.is_grad_enabled()


# --- randomness


def seed(seed: int, *, threads: int | None = None, device: str = "") -> None:
    """Seed all devices, and switch to deterministic algorithms and settings."""
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is not None and not accelerator.is_available():
        torch.default_generator.manual_seed(seed)  # the only one; `manual_seed` would store a traceback for each device
    else:
        torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    _use_deterministic_algorithms()
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    torch.backends.mha.set_fastpath_enabled(False)  # hooks for tracing switch it off, which would change bits
    if threads is not None:
        torch.set_num_threads(threads)


def _use_deterministic_algorithms(*, warn_only: bool = False) -> None:
    """Do what torch's function of this name does, without importing `torch._inductor` to tell it, too.

    Importing that takes as long as importing torch itself (1.7 s of processor time, torch 2.13), in every process that
    runs a recipe; where it is imported later, for an optimiser or a compiler, it is told then.
    """
    switch: Any = getattr(torch._C, "_set_deterministic_algorithms", None)
    if switch is None or _COMPILER_SETTINGS in sys.modules:
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        return
    when_imported(_COMPILER_SETTINGS, _make_compiler_deterministic)
    switch(True, warn_only=warn_only)


def _make_compiler_deterministic(settings: Any) -> None:
    if hasattr(settings, "deterministic"):  # older versions have no such setting
        settings.deterministic = True


def tolerate_nondeterminism() -> None:
    """Allow operations that have no deterministic form, with a warning."""
    _use_deterministic_algorithms(warn_only=True)


def initial_seed() -> int | None:
    """Return the seed of the global random state."""
    return torch.initial_seed()


def random_state() -> tuple[Any, ...]:
    """Return the state of all random sources, to be compared with a later one."""
    found = [torch.get_rng_state().numpy().tobytes()]
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        found.append(torch.cuda.get_rng_state().numpy().tobytes())
    return tuple(found)


def draw_watch() -> Callable[[], bool]:
    before = torch.get_rng_state()
    return lambda: not before.equal(torch.get_rng_state())


@contextlib.contextmanager
def random_state_kept(seed: int | None = None) -> Iterator[None]:
    """Leave all random sources as they were; seed them, if there is a seed."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=list(devices)):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def last_place_noise(seed: int, unit: float = 0.0) -> Callable[[Any], Any]:
    """Return a function that moves numbers by at most one unit in the last place of float32, or by another `unit`."""
    generator = torch.Generator().manual_seed(seed)
    eps = unit or torch.finfo(torch.float32).eps

    def change(value: Any) -> Any:
        drawn = torch.rand(value.shape, generator=generator, dtype=torch.float64) * 2 - 1
        moved = value * (1 + drawn.to(value.device) * eps).to(value.dtype)
        return moved if value.is_complex() else torch.where(value == value.round(), value, moved)

    return change

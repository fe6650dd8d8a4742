"""How torch computes: conditions of a run, noise for arrays, randomness, gradients."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from goldsmith.foundation.nested import map_tree
from goldsmith.foundation.on_import import when_imported
from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.protocols import Backward
from goldsmith.frameworks.randomness import fixed_direction
from goldsmith.frameworks.torch.observers import noting_draws, noting_dtypes, noting_optimisers, record_op_outputs
from goldsmith.frameworks.torch.process import compiled as compiled
from goldsmith.frameworks.torch.process import compiling, memory, settings_kept
from goldsmith.frameworks.torch.process import functions as functions
from goldsmith.frameworks.torch.process import settings as settings
from goldsmith.frameworks.torch.process import settings_changed as settings_changed
from goldsmith.frameworks.torch.rounding import in_float64, rounding_noise, to_float64
from goldsmith.gold.arrays import Computed
from goldsmith.gold.call_forms import rebuild, tensors_in

disturbs_operations = True
_COMPILER_SETTINGS = "torch._inductor.config"


@contextlib.contextmanager
def conditions(
    watch: Watch,
    *,
    compiled: bool = False,
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
        stack.enter_context(settings_kept(watch))
        if compiled:
            stack.enter_context(compiling(watch))
        if marked_memory is not None:
            stack.enter_context(memory(marked=marked_memory))
        if tf32:
            stack.enter_context(_tf32())
        if precision == "float64":
            stack.enter_context(in_float64(watch, watched=watched, lightly=lightly))
        elif precision:
            stack.enter_context(_default_dtype(getattr(torch, precision)))
        if noise is not None:
            stack.enter_context(rounding_noise(watch, noise, narrowed=narrowed))
        if note_dtypes:
            stack.enter_context(noting_dtypes(watch))
        if keep_outputs:
            stack.enter_context(record_op_outputs(watch.outputs))
        if note_optimisers:
            stack.enter_context(noting_optimisers(watch.optimisers))
        if on_draw is not None:
            stack.enter_context(noting_draws(on_draw))
        yield


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
    return to_float64(array)


def disturb(array: Any, generator: np.random.Generator, least: float = 0.0) -> Any:
    drawn = generator.uniform(-1, 1, tuple(array.shape))
    wide = torch.complex128 if array.is_complex() else torch.float64
    values = array.detach().to("cpu", wide).numpy()  # in NumPy: torch operations would be disturbed, too
    moved = values * (1 + drawn * max(torch.finfo(array.dtype).eps, least))
    if not array.is_complex():
        moved = np.where(values == np.round(values), values, moved)
    return torch.from_numpy(np.asarray(moved)).to(array.device, array.dtype)


def undisturbed() -> Any:
    return contextlib.nullcontext() if _get_current_dispatch_mode() is None else _disable_current_modes()


def with_modes_of_this_thread(action: Callable[[], None]) -> Callable[[], None]:
    """Run `action` with this thread's modes of gradients, which other threads do not inherit."""
    learning, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    def run() -> None:
        with torch.inference_mode(inference), torch.set_grad_enabled(learning):
            action()

    return run


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
    seed_generators(seed)
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


def seed_generators(seed: int) -> None:
    """Do what `torch.manual_seed` does. Where no accelerator is, that would store a traceback for each kind of them,
    which takes 8 ms on a deep stack."""
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is not None and not accelerator.is_available():
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


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
            seed_generators(seed)
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


# --- gradients of a call's inputs and weights, for a fixed direction in its outputs
#
# A superfluous `detach` changes no output. So after a case has run, each kind of call in its trace is repeated once
# with gradients: on the solution when gold is made, on a submission only when a case differs. Gold keeps a few
# projections of each gradient, which is enough to tell two apart.


def passed_back(
    call: Callable[..., Any],
    form: Any,
    tensors: Sequence[Any],
    weights: Callable[[], Mapping[str, Any]],
    frozen: Collection[str] = (),
) -> Mapping[str, Any]:
    """Return the gradients that `call` passes back to `tensors`, by number (`input.0`), and to its `weights`, by name
    (`weight.scale`, or `thawed.scale` if that was `frozen`); empty if it passes back none."""
    inputs = [item.detach().clone() for item in tensors]
    for item in inputs:
        item.requires_grad_(item.is_floating_point() or item.is_complex())
    with torch.enable_grad():
        # copies: a call may overwrite its inputs, which autograd refuses for leaves
        args, kwargs = rebuild(form, {str(number): item.clone() for number, item in enumerate(inputs)})
        outputs = [item for item in tensors_in([call(*args, **kwargs)]) if item.requires_grad]
        total = sum((item * _direction(item, number)).sum() for number, item in enumerate(outputs))
    if not outputs:
        return {}
    total.abs().backward() if total.is_complex() else total.backward()
    found = {f"input.{number}": item.grad for number, item in enumerate(inputs) if item.requires_grad}
    found |= {f"{'thawed' if name in frozen else 'weight'}.{name}": item for name, item in weights().items()}
    found = {name: gradient for name, gradient in found.items() if gradient is not None}
    return Computed(found, lambda name: _as_numbers(found[name]))


def vjp(
    function: Callable[[list[Any]], Any], arrays: Sequence[Any]
) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
    """Call a function of arrays; return what it returns, and a function from directions in its arrays, in order, to the
    gradients of `arrays`, None where there is none. Those of complex numbers are torch's conjugates."""
    inputs = [item.detach() for item in arrays]
    for item in inputs:
        item.requires_grad_(item.is_floating_point() or item.is_complex())
    with torch.enable_grad():
        returned = function([item.clone() for item in inputs])  # it may write over them
    outputs = tensors_in(returned)

    def pull(directions: Sequence[Any]) -> list[Any]:
        pairs = [pair for pair in zip(outputs, directions, strict=True) if pair[0].requires_grad]
        wanted = [item for item in inputs if item.requires_grad]
        if not pairs or not wanted:
            return [None] * len(inputs)
        ends, along = [item for item, _ in pairs], [direction.conj() for _, direction in pairs]
        found = iter(torch.autograd.grad(ends, wanted, along, retain_graph=True, allow_unused=True))
        passed = [next(found) if item.requires_grad else None for item in inputs]
        return [None if item is None else item.conj().resolve_conj() for item in passed]

    return returned, pull


def _as_numbers(gradient: Any) -> Any:
    """Convert to float64, which NumPy has, with complex numbers as pairs."""
    real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
    return real.detach().double()


def _direction(output: Any, number: int) -> Any:
    steps = torch.arange(1, output.numel() + 1, dtype=torch.float64)
    return torch.cos(steps * 1.7 + number).reshape(output.shape).to(output)


def backward(
    call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], total: Callable[[Any], Any]
) -> Backward:
    leaves: list[Any] = []

    def learning(array: Any) -> Any:
        if not isinstance(array, torch.Tensor) or not (array.is_floating_point() or array.is_complex()):
            return array
        leaves.append(array.detach().requires_grad_())
        return leaves[-1].clone()  # a call may overwrite its inputs, which autograd refuses for leaves

    positional, named = map_tree(learning, [list(args), dict(kwargs)], _is_object)
    returned = call(*positional, **named)
    found = total(returned)
    if found is not None:
        found.backward()
    gradients = [item.grad for item in leaves]
    return Backward(returned, None if found is None else found.detach(), tuple(positional), named, gradients)


def _is_object(value: Any) -> bool:
    """Say whether a container is of a class of its own, which is passed as it is."""
    return type(value) not in (dict, list, tuple) and not hasattr(value, "_fields")


def backward_total(
    returned: Any,
    values: Mapping[str, Any],
    outputs: Sequence[str],
    loss: Callable[[Any], Any] | None,
    seed: int,
) -> Any:
    """Return the number that gradients are taken of: the loss, else a fixed random combination of the outputs."""
    if loss is not None:
        total = loss(returned)
        return total if isinstance(total, torch.Tensor) and total.requires_grad else None
    parts = []
    for number, path in enumerate(outputs):
        item = values.get(path)
        if item is None or not isinstance(item, torch.Tensor) or not item.requires_grad:
            continue
        drawn = torch.from_numpy(fixed_direction(tuple(item.shape), seed * 1000 + number))
        real = torch.view_as_real(item) if item.is_complex() else item
        drawn = drawn.unsqueeze(-1).expand(real.shape) if item.is_complex() else drawn
        parts.append((real * drawn.to(real)).sum())
    return sum(parts) if parts else None


def gradients_of(records: Sequence[Any], sources: Mapping[str, Any]) -> dict[str, Any]:
    """Differentiate every differentiable record with respect to every source, for a fixed direction."""
    found: dict[str, Any] = {}
    for leaf in records:
        if not leaf.requires_grad:
            continue
        direction = (
            torch.linspace(-1.0, 1.0, leaf.numel(), dtype=leaf.dtype, device=leaf.device).cos().reshape(leaf.shape)
        )
        with contextlib.suppress(RuntimeError):  # the case has called backward() itself
            gradients = torch.autograd.grad(
                leaf, list(sources.values()), direction, retain_graph=True, allow_unused=True
            )
            for name, gradient in zip(sources, gradients, strict=True):
                if gradient is not None:
                    found[name] = found.get(name, 0) + gradient.detach()
    return found

"""How JAX computes: conditions of a run, and gradients of functions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from goldsmith.frameworks.framework import CannotCompile, Watch
from goldsmith.frameworks.jax.arrays import cast, unobserved
from goldsmith.frameworks.jax.gradients import differentiated as differentiated
from goldsmith.frameworks.jax.gradients import used
from goldsmith.frameworks.jax.operations import in_float64, observed
from goldsmith.frameworks.jax.process import keep_to
from goldsmith.frameworks.shared.noise import Noise

disturbs_operations = True
_FULL = "highest"
"""The precision of products: on accelerators JAX rounds float32 to TF32 or bfloat16 before it multiplies, unless told
otherwise. As with torch, settings of a process that switch that on are set aside; what a call asks for counts."""


@contextlib.contextmanager
def conditions(
    watch: Watch,
    *,
    precision: str = "",
    noise: int | None = None,
    narrowed: bool = False,
    note_dtypes: bool = False,
    keep_outputs: bool = False,
    **others: Any,
) -> Iterator[None]:
    is_wide = precision == "float64"
    with contextlib.ExitStack() as stack:
        stack.enter_context(in_float64() if is_wide else jax.default_matmul_precision(_FULL))
        if is_wide or noise is not None or note_dtypes or keep_outputs:
            made = Noise(noise, narrowed=narrowed) if noise is not None else None
            seen = observed(watch, noise=made, keeps_outputs=keep_outputs, is_wide=is_wide, notes=note_dtypes)
            stack.enter_context(seen)
        yield


def widened(array: Any) -> Any:
    """Return an array as a float64 run has it: float32 as float64, complex64 as complex128."""
    return cast(array, "float64") if array.dtype in (jnp.float32, jnp.complex64) else array


undisturbed = unobserved


# --- randomness, which is an argument: a key


def source_name(value: Any) -> str:
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        raw = value.dtype == jnp.uint32 and value.shape == (2,)  # of `jax.random.PRNGKey`
        return "jax.random.key" if raw or jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key) else ""
    streams = sys.modules.get("flax.nnx")
    return "flax.nnx.Rngs" if streams is not None and isinstance(value, streams.Rngs) else ""


def reseeded(value: Any, seed: int) -> Any:
    if isinstance(value, jax.Array):
        return jax.random.fold_in(value, seed)
    return type(value)(**{name: jax.random.fold_in(value[name].key[...], seed) for name in value})


def seed(seed: int, *, threads: int | None = None, device: str = "") -> None:
    """Compute products in full precision; there is no global state to seed."""
    jax.config.update("jax_default_matmul_precision", _FULL)
    jax.config.update("jax_traceback_filtering", "off")  # which adds three lines on itself to every error
    if device:
        keep_to(device)


def compiled(target: Any) -> Any:
    raise CannotCompile("code of JAX is compiled where it says so itself, by jax.jit, and runs so in every comparison")


def functions() -> dict[str, Any]:
    return {f"jax.numpy.{name}": item for name, item in vars(jnp).items() if callable(item)}


def vjp(
    function: Callable[[list[Any]], Any], arrays: Sequence[Any]
) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
    """Call a function of arrays; return what it returns, and a function from directions in its arrays, in order, to the
    gradients of `arrays`, None where there is none."""
    learned = [number for number, item in enumerate(arrays) if jnp.issubdtype(item.dtype, jnp.inexact)]

    def of_some(some: Sequence[Any]) -> Any:
        given = dict(zip(learned, some, strict=True))
        return function([given.get(number, item) for number, item in enumerate(arrays)])

    returned, pull = jax.vjp(of_some, [arrays[number] for number in learned])
    _, form = jax.tree_util.tree_flatten(returned)

    def passed_back(directions: Sequence[Any]) -> list[Any]:
        (gradients,) = pull(jax.tree_util.tree_unflatten(form, directions))
        if any(not item.any() for item in gradients if not isinstance(item, jax.core.Tracer)):
            matters = _matters(of_some, [arrays[number] for number in learned], directions)
            gradients = [item if some else None for item, some in zip(gradients, matters, strict=True)]
        found = dict(zip(learned, gradients, strict=True))
        return [found.get(number) for number in range(len(arrays))]

    return returned, passed_back


def _matters(function: Callable[[Sequence[Any]], Any], arrays: Sequence[Any], directions: Sequence[Any]) -> list[bool]:
    """Say which arrays those results depend on that a direction leads from: JAX has zeros for the others, too."""
    wanted = [isinstance(item, jax.core.Tracer) or bool(item.any()) for item in directions]
    try:
        _, along = jax.linearize(lambda *given: jax.tree_util.tree_leaves(function(given)), *arrays)
        return used(lambda *moves: [item for item, some in zip(along(*moves), wanted, strict=True) if some], arrays)
    except Exception:  # a rule of its own for gradients cannot be looked into
        return [True] * len(arrays)

"""Every operation of JAX that computes numbers: seen, disturbed, or held to float64.

JAX hands each operation to the trace that it is in, `jax.core`'s own where nothing is transformed. Within `observed`,
that is one that evaluates it in the same way and looks at it. What is compiled is one operation: where noise must get
in, it is evaluated operation by operation; to know dtypes, to read it is enough.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.lax import lax

from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.jax.arrays import copy, exactly, from_numpy, like, wide
from goldsmith.frameworks.jax.draws import drawn_narrow, is_draw, wrapped
from goldsmith.frameworks.shared.noise import Noise, eps_of
from goldsmith.gold.precision import is_exact

_MOST_STEPS = 200
"""Turns of a loop that are evaluated operation by operation; of a longer one, only the result is disturbed."""
_MAX_OUTPUTS, _MAX_OUTPUT_BYTES = 4000, 64 * 2**20
_EXACT = frozenset(
    """
    abs all_gather bitcast_convert_type broadcast_in_dim broadcast_to ceil clamp complex concatenate conj
    convert_element_type copy copy_p cummax cummin device_put dynamic_slice dynamic_update_slice empty expand_dims floor
    gather get imag iota layout_constraint max min name neg optimization_barrier pad pbroadcast pvary real reduce_max
    reduce_min reduce_window_max reduce_window_min reshape reshard rev round scatter scatter-max scatter-min
    select_and_gather_add select_n sharding_constraint sign slice sort split squeeze stack stage stop_gradient swap tile
    top_k transpose unstack zeros_like
    """.split()  # noqa: SIM905
)
"""Operations that move, choose or draw numbers and round nothing."""
_OUTSIDE = frozenset(("ffi_call", "io_callback", "pallas_call", "pure_callback"))
"""Operations of which nothing is known but the dtypes of their results."""
_PRODUCTS = frozenset(("conv_general_dilated", "dot_general", "ragged_dot_general"))
_FEWER_BITS = {"gpu": "tf32", "cuda": "tf32", "rocm": "tf32", "tpu": "bfloat16"}
"""To what products in float32 are rounded on each platform unless a precision is asked for."""


class _Observed(core.Trace):  # type: ignore[misc]
    """Evaluates operations as JAX does where nothing is transformed, and takes note of them."""

    is_observing = True

    def __init__(self, watch: Watch, noise: Noise | None, *, keeps_outputs: bool) -> None:
        super().__init__()
        self._watch, self._noise, self._keeps = watch, noise, keeps_outputs
        self._opens = noise is not None or keeps_outputs
        self._kept_bytes = 0
        self.rounded: set[str] = set()
        """Dtypes, by name, that results were rounded to."""
        self.unknown = False
        """Whether something was computed, or numbers came in, of which it is not known in what they were computed."""

    def process_primitive(self, primitive: Any, args: Sequence[Any], params: Any, /) -> Any:
        if is_draw(params, args):  # numbers that are drawn are what they are
            return core.eval_trace.process_primitive(primitive, args, params)
        inside = list(core.jaxprs_in_params(params))
        opens = self._opens or _crosses(primitive.name, params) or any(map(_calls_another, inside))
        if opens and primitive.name in _OPENED:
            with core.set_current_trace(self):
                found = _OPENED[primitive.name](args, params)
            if found is not None:
                return found
        found = core.eval_trace.process_primitive(primitive, args, params)
        results = found if primitive.multiple_results else [found]
        if inside:
            for jaxpr in inside:
                self._read(jaxpr)
        else:
            self._note(primitive.name, args, results, params)
        self.unknown = self.unknown or any(map(_is_rounded_outside, args))
        if self._opens:
            results = [self._changed(primitive.name, item) for item in results]
        return results if primitive.multiple_results else results[0]

    def stage_value(self, value: Any) -> Any:
        self.unknown = self.unknown or _is_rounded_outside(value)
        return core.eval_trace.stage_value(value)

    def cur_qdd(self, value: Any) -> Any:
        return core.eval_trace.cur_qdd(value)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rules_and_args: Any, **_: Any) -> Any:
        with core.set_current_trace(self):
            return fun.call_wrapped(*rules_and_args[-1])

    process_custom_vjp_call = process_custom_jvp_call

    def _read(self, jaxpr: Any) -> None:
        for name, given, results, params in _operations_in(jaxpr):
            self._note(name, given, results, params)

    def _note(self, name: str, given: Iterable[Any], results: Iterable[Any], params: Any) -> None:
        for item in results:
            if not _is_inexact(item) or not math.prod(item.shape):
                continue
            if name not in _EXACT or any(_is_inexact(other) and _eps(other) < _eps(item) for other in given):
                self.rounded.add(str(item.dtype))
            if name in _PRODUCTS and str(item.dtype) == "float32":
                self.rounded |= _of_products(params.get("precision"))
            fewer = name == "reduce_precision" and 2.0 ** -params["mantissa_bits"] > _eps(item)
            self.unknown = self.unknown or name in _OUTSIDE or fewer

    def _changed(self, name: str, item: Any) -> Any:
        if not isinstance(item, jax.Array) or not _is_inexact(item):
            return item
        self._watch.operations += 1
        if self._noise is not None and name not in _EXACT:
            self._watch.wide += str(item.dtype) in ("float64", "complex128")
            item = like(from_numpy(self._noise(np.asarray(item))), item)
        if self._keeps and item.size > 1 and self._kept_bytes < _MAX_OUTPUT_BYTES:
            kept = self._watch.outputs
            if len(kept) < _MAX_OUTPUTS:
                kept[f"{len(kept):04d}"] = copy(item)
                self._kept_bytes += item.nbytes
        return item


def _as_a_whole(name: str) -> Callable[..., Any]:
    """Make a method that evaluates as JAX does what cannot be seen from here."""

    def process(self: _Observed, *args: Any, **kwargs: Any) -> Any:
        self.unknown = True
        found = getattr(core.eval_trace, name)(*args, **kwargs)
        if not self._opens:
            return found
        change = functools.partial(self._changed, name)
        return (
            found.map(change) if hasattr(found, "map") else jax.tree.map(change, found)
        )  # JAX's own tree has a method

    return process


for _name in ("process_call", "process_map", "process_custom_transpose", "process_shard_map"):
    setattr(_Observed, _name, _as_a_whole(_name))


@functools.lru_cache(maxsize=4096)
def _operations_in(jaxpr: Any) -> tuple[tuple[str, Any, Any, Any], ...]:
    """List the operations of what is compiled: name, what goes in, what comes out, settings; those of loops once."""
    found: list[tuple[str, Any, Any, Any]] = []
    for step in jaxpr.eqns:
        given, results = ([item.aval for item in side] for side in (step.invars, step.outvars))
        if is_draw(step.params, given):
            continue
        inside = list(core.jaxprs_in_params(step.params))
        for item in inside:
            found += _operations_in(item)
        if not inside:
            found.append((step.primitive.name, given, results, step.params))
    return tuple(found)


def _is_inexact(item: Any) -> bool:
    kind = getattr(item, "dtype", None)
    return kind is not None and bool(jnp.issubdtype(kind, jnp.inexact))


def _eps(item: Any) -> float:
    return eps_of(str(item.dtype))


def _is_rounded_outside(item: Any) -> bool:
    """Say whether an array of NumPy comes in whose numbers show that they were rounded. Where float64 is not enabled,
    as while numbers are drawn, JAX itself has done so."""
    if not isinstance(item, np.ndarray | np.generic) or not _is_inexact(item) or item.dtype.itemsize >= 8:
        return False
    if not jax.config.jax_enable_x64:
        return False
    return not is_exact(np.asarray(item, np.float64), str(item.dtype))


def _of_products(precision: Any) -> set[str]:
    asked = str(precision or jax.config.jax_default_matmul_precision or "default").lower()
    if any(word in asked for word in ("highest", "float32", "f32_f32_f32")):
        return set()
    kind = _FEWER_BITS.get(jax.default_backend())
    return {kind} if kind else set()


# --- what is compiled, operation by operation


def _open(args: Sequence[Any], params: Any) -> Any:
    inside = next(params[name] for name in ("jaxpr", "call_jaxpr") if name in params)
    return _evaluated(inside, args)


def _evaluated(jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    closed = hasattr(jaxpr, "consts")
    return core.eval_jaxpr(jaxpr.jaxpr if closed else jaxpr, jaxpr.consts if closed else (), *args)  # type: ignore[no-any-return]


def _open_cond(args: Sequence[Any], params: Any) -> Any:
    which, *given = args
    branches = params["branches"]
    return _evaluated(branches[min(max(int(which), 0), len(branches) - 1)], given)


def _open_while(args: Sequence[Any], params: Any) -> Any:
    one, two = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    state = list(args[two:])
    for _ in range(_MOST_STEPS):
        if not bool(_evaluated(params["cond_jaxpr"], [*args[:one], *state])[0]):
            return state
        state = _evaluated(params["body_jaxpr"], [*args[one:two], *state])
    return None  # as a whole, from its beginning


def _open_scan(args: Sequence[Any], params: Any) -> Any:
    if not 0 < params["length"] <= _MOST_STEPS:
        return None
    one, two = params["num_consts"], params["num_consts"] + params["num_carry"]
    carried, rows = list(args[one:two]), list[Any]()
    turns = range(params["length"])
    for turn in reversed(turns) if params["reverse"] else turns:
        found = _evaluated(params["jaxpr"], [*args[:one], *carried, *(item[turn] for item in args[two:])])
        carried = found[: two - one]
        rows.append(found[two - one :])
    if params["reverse"]:
        rows.reverse()
    with exactly():
        return [*carried, *(jnp.stack(parts) for parts in zip(*rows, strict=True))]


def _crosses(name: str, params: Any) -> bool:
    """Say whether an operation is a call of another framework, as `crossing` has marked it."""
    return name == "pure_callback" and hasattr(params["callback"].callback_func, _CROSSING)


def crossing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function for the host that calls another framework, which holds the conditions of this run itself: in this
    thread, where they are, and not in one of JAX's."""
    setattr(call, _CROSSING, True)
    return call


_CROSSING = "_goldsmith_crossing"


@functools.lru_cache(maxsize=4096)
def _calls_another(jaxpr: Any) -> bool:
    return any(_crosses(name, params) for name, _, _, params in _operations_in(jaxpr))


def _open_callback(args: Sequence[Any], params: Any) -> Any:
    if not _crosses("pure_callback", params):
        return None
    with exactly():
        return [jnp.asarray(item) for item in params["callback"](*map(np.asarray, args))]


_OPENED: dict[str, Callable[[Sequence[Any], Any], Any]] = dict.fromkeys(
    ("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_vjp_call_jaxpr"), _open
) | {"cond": _open_cond, "while": _open_while, "scan": _open_scan, "pure_callback": _open_callback}


# --- contexts


@contextlib.contextmanager
def observed(
    watch: Watch, *, noise: Noise | None = None, keeps_outputs: bool = False, is_wide: bool = False, notes: bool = False
) -> Iterator[None]:
    """Look at, and disturb, every operation within this context; with `is_wide`, say whether all were in float64."""
    trace, outer = _Observed(watch, noise, keeps_outputs=keeps_outputs), core.trace_ctx.trace
    try:
        with core.set_current_trace(trace), _flax_sees_none(trace):
            yield
    finally:
        if isinstance(outer, _Observed):
            outer.rounded |= trace.rounded
            outer.unknown |= trace.unknown
        if is_wide:
            watch.pure = watch.pure and not (trace.unknown or trace.rounded - {"float64", "complex128"})
            watch.foreign = watch.foreign or trace.unknown
        if notes:
            watch.rounded_to = tuple(sorted({*watch.rounded_to, *trace.rounded}))


@contextlib.contextmanager
def _flax_sees_none(trace: Any) -> Iterator[None]:
    """Let Flax take this trace for none: it refuses to change variables in another one than they were made in."""
    modules = (("flax.nnx.tracers", "current_jax_trace"), ("flax.core.tracers", "current_trace"))
    places = [(sys.modules[module], name) for module, name in modules if hasattr(sys.modules.get(module), name)]

    def blind(current: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            if core.trace_ctx.trace is not trace:
                return current()
            with core.set_current_trace(core.eval_trace):
                return current()

        return call

    with wrapped(places, blind):
        yield


@functools.cache
def _check_float64(backend: str) -> None:
    """Raise `RuntimeError` where a backend has no float64."""
    found: Any = None
    with contextlib.suppress(Exception):  # each backend refuses it in its own way
        found = jnp.ones((), jnp.float64) / 3
    if found is None or found.dtype != np.float64 or float(found) != 1 / 3:
        raise RuntimeError(f"JAX has no float64 on {backend}; choose the CPU with JAX_PLATFORMS=cpu")


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    """Compute in float64 within this context, also where code asks to round to float32.

    `float32` is JAX's other word for the highest precision. Nobody else uses it together with float64, so nothing that
    is traced here is found again by code that runs later.
    """
    narrow = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}

    def widening(convert: Any, operand: Any, new_dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        ours = core.trace_ctx.trace is core.eval_trace or not jax.config.jax_enable_x64
        wide_one = isinstance(operand, jax.Array) and operand.dtype in narrow.values()
        if new_dtype is not None and wide_one and not ours and not operand.weak_type:  # of a Python number: any dtype
            with contextlib.suppress(TypeError):
                new_dtype = narrow.get(np.dtype(new_dtype), new_dtype)
        return convert(operand, new_dtype, *args, **kwargs)

    draws = contextlib.nullcontext() if jax.config.jax_enable_x64 else drawn_narrow()
    with draws, wide(), jax.default_matmul_precision("float32"):
        _check_float64(jax.default_backend())
        with wrapped([(lax, "_convert_element_type")], lambda convert: functools.partial(widening, convert)):
            yield

"""Every operation of JAX is seen: noise reaches it, and a run in float64 is called one only if it was."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax.sharding import Mesh, PartitionSpec

from goldsmith.frameworks.framework import conditions, framework, undisturbed
from goldsmith.frameworks.jax.arrays import wide
from goldsmith.gold.arrays import as_numpy

shard_map = getattr(jax, "shard_map", None) or importlib.import_module("jax.experimental.shard_map").shard_map
ROWS = PartitionSpec("rows")
SHARDS = {"mesh": Mesh(np.array(jax.devices()[:1]), ("rows",)), "in_specs": ROWS, "out_specs": ROWS}
MATRIX = jax.random.normal(jax.random.key(1), (8, 8))


def plain(x: Any) -> Any:
    return jnp.tanh(x @ MATRIX)


def scanned(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (jnp.sin(carry + row), carry * row), jnp.zeros(8), x, reverse=True)[1]


def differentiated(x: Any) -> Any:
    return jax.grad(lambda y: jnp.sum(jax.checkpoint(plain)(y) ** 3))(x)


def branched(x: Any) -> Any:
    return jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)


def looped(x: Any) -> Any:
    return jax.lax.while_loop(lambda state: state[0] < 5, lambda state: (state[0] + 1, jnp.cos(state[1])), (0, x))[1]


def looped_long(x: Any) -> Any:
    return jax.lax.fori_loop(0, 1000, lambda _, y: jnp.cos(y) + 0.1, x)


@jax.custom_vjp
def own_gradient(x: Any) -> Any:
    return jnp.sin(x)


own_gradient.defvjp(lambda x: (jnp.sin(x), x), lambda x, passed: (passed * jnp.cos(x),))

FUNCTIONS: list[Callable[[Any], Any]] = [
    plain,
    jax.jit(plain),
    scanned,
    jax.jit(scanned),
    differentiated,
    branched,
    looped,
    looped_long,
    own_gradient,
    jax.vmap(jax.grad(lambda row: jnp.sum(own_gradient(row) ** 2))),
    jax.nn.softmax,
    jax.jit(shard_map(plain, **SHARDS)),
]


def names(function: Callable[[Any], Any]) -> str:
    return getattr(function, "__name__", "function")


def inputs() -> Any:
    return jax.random.normal(jax.random.key(0), (6, 8))


@pytest.mark.parametrize("function", FUNCTIONS, ids=names)
def test_noise_reaches_it_and_is_of_the_size_of_rounding(function: Callable[[Any], Any]) -> None:
    x = inputs()
    calm = as_numpy(function(x))
    with conditions(noise=1) as watch:
        noisy = [as_numpy(function(x)), as_numpy(function(x))]
    assert watch.operations
    gap = max(np.abs(item - calm).max() for item in noisy) / np.abs(calm).max()
    assert 2.0**-25 < gap < 200 * 2.0**-23
    assert (noisy[0] != noisy[1]).any()
    assert (as_numpy(function(x)) == calm).all()
    with conditions(noise=1):
        assert (as_numpy(function(x)) == noisy[0]).all(), "another draw for the same seed"


@pytest.mark.parametrize("function", FUNCTIONS, ids=names)
def test_in_float64_it_computes_in_float64(function: Callable[[Any], Any]) -> None:
    x = inputs()
    with wide():
        given = x.astype(jnp.float64)
        exact = as_numpy(function(given))
    with conditions(precision="float64") as watch:
        found = function(given)
    assert found.dtype == jnp.float64
    assert watch.pure
    assert not watch.foreign
    assert np.allclose(as_numpy(found), exact, rtol=1e-12, atol=1e-15)


DRAWS: list[Callable[[Any], Any]] = [
    lambda key: jax.random.normal(key, (4, 3)),
    lambda key: jax.random.normal(key, (4,), jnp.float32) * 3,
    lambda key: jax.random.uniform(key, (5,), minval=-1.0),
    lambda key: jax.random.bernoulli(key, 0.3, (64,)),
    lambda key: jax.random.randint(key, (9,), 0, 1000),
    lambda key: jax.random.categorical(key, jnp.zeros(50)),
    lambda key: jax.random.permutation(key, jnp.arange(8.0)),
    lambda key: jax.random.choice(key, jnp.arange(20.0), (7,)),
    lambda key: jax.nn.initializers.lecun_normal()(key, (6, 6)),
    lambda key: nnx.Dropout(0.5, rngs=nnx.Rngs(key))(jnp.ones(32)),
    jax.jit(lambda key: jnp.where(jax.random.bernoulli(key, 0.5, (32,)), 1.0, jax.random.normal(key, (32,)))),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_are_the_same_in_float64_and_noise_leaves_them(draw: Callable[[Any], Any]) -> None:
    key = jax.random.key(3)
    calm = as_numpy(draw(key))
    with conditions(precision="float64") as watch:
        found = draw(key)
    assert watch.pure
    assert np.allclose(as_numpy(found), calm, rtol=1e-6)
    assert not jnp.issubdtype(found.dtype, jnp.floating) or found.dtype == jnp.float64
    with conditions(noise=1):
        assert np.allclose(as_numpy(draw(key)), calm, rtol=1e-6)
    assert (as_numpy(draw(key)) == calm).all()


def test_what_goldsmith_does_with_arrays_is_not_seen() -> None:
    arrays, numerics = framework("jax").arrays, framework("jax").numerics
    with conditions(precision="float64") as watch:
        array = arrays.like(np.full(3, 0.1, np.float32), jnp.zeros(1))
        numerics.disturb(arrays.copy(numerics.widened(array)), np.random.default_rng(0))
        assert arrays.cast(numerics.widened(array), "float32").dtype == jnp.float32
    assert watch.pure
    assert array.dtype == jnp.float32


def test_where_float64_is_enabled_numbers_are_drawn_in_it() -> None:
    with wide():
        calm = as_numpy(jax.random.normal(jax.random.key(0), (3,)))
        with conditions(precision="float64") as watch:
            assert (as_numpy(jax.random.normal(jax.random.key(0), (3,))) == calm).all()
    assert watch.pure


def test_a_norm_that_asks_for_float32_is_computed_in_float64_too() -> None:
    def norm(x: Any) -> Any:
        own = x.astype(jnp.float32)
        return (own * jax.lax.rsqrt(jnp.mean(own**2, -1, keepdims=True) + 1e-6)).astype(x.dtype)

    with wide():
        x = jnp.linspace(1, 2, 16, dtype=jnp.float64).reshape(2, 8)
        exact = np.asarray(x) / np.sqrt((np.asarray(x) ** 2).mean(-1, keepdims=True) + 1e-6)
    for function in (norm, jax.jit(norm), lambda y: jax.jvp(norm, (y,), (jnp.ones_like(y),))[0]):
        with conditions(precision="float64") as watch:
            found = function(x)
        assert watch.pure
        assert np.allclose(as_numpy(found), exact, rtol=1e-13)
    with wide():
        assert not np.allclose(as_numpy(jax.jit(norm)(x)), exact, rtol=1e-13), "what ran here is found again by others"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.sin(jnp.ones(8, jnp.float32) * 0.3) + x,
        lambda x: jax.lax.reduce_precision(x, 8, 7),
        lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
        lambda x: x * np.float32(0.1),
        lambda x: x + jnp.asarray(np.full(8, 0.1, np.float32)),
        lambda x: shard_map(jnp.sin, **SHARDS)(x),
        jax.jit(lambda x: jax.lax.dot(x, x.T, preferred_element_type=jnp.float32)),
    ],
    ids=["float32", "bits", "callback", "number", "array", "shards", "product"],
)
def test_what_rounds_in_a_run_in_float64_is_not_called_pure(function: Callable[[Any], Any]) -> None:
    with wide():
        x = jnp.linspace(0.1, 1, 64, dtype=jnp.float64).reshape(8, 8)
    with conditions(precision="float64") as watch:
        function(x)
    assert not watch.pure


def test_a_backend_without_float64_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "narrow")
    monkeypatch.setattr(jnp, "float64", jnp.float32)
    with pytest.raises(RuntimeError, match="JAX has no float64 on narrow"), conditions(precision="float64"):
        pass
    assert not jax.config.jax_enable_x64


def test_dtypes_that_results_are_rounded_to_are_noted() -> None:
    drawn = inputs()
    with conditions(note_dtypes=True) as watch:
        jax.jit(lambda x: x.astype(jnp.bfloat16) @ MATRIX.astype(jnp.bfloat16))(drawn)
        jnp.arange(3) + 1
    assert watch.rounded_to == ("bfloat16",)


def test_whole_numbers_stay() -> None:
    with conditions(noise=1) as watch:
        counts = jnp.sum(jnp.ones((3, 7)), 1) * 2
    assert watch.operations
    assert as_numpy(counts).tolist() == [14, 14, 14]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_noise_is_one_unit_of_the_dtype(dtype: str) -> None:
    x = jnp.linspace(0.1, 1.0, 64).astype(dtype)
    with conditions(noise=3):
        moved = as_numpy(x * jnp.asarray(1.5, dtype)) / (as_numpy(x) * 1.5)
    size = np.abs(moved - 1).max()
    assert moved.dtype.kind == ("c" if dtype == "complex64" else "f")
    assert 0.3 * float(jnp.finfo(dtype).eps) < size < 2.1 * float(jnp.finfo(dtype).eps)


def test_what_operations_return_is_kept() -> None:
    with conditions(keep_outputs=True) as watch:
        jax.jit(lambda x: jnp.tanh(jnp.sin(x)))(inputs())
    kept = [as_numpy(item) for item in watch.outputs.values()]
    assert any(np.allclose(item, np.sin(as_numpy(inputs())), atol=1e-6) for item in kept)


def test_noise_can_be_suspended() -> None:
    x = inputs()
    calm = as_numpy(plain(x))
    with conditions(noise=1), undisturbed():
        assert (as_numpy(plain(x)) == calm).all()


def test_what_is_rounded_under_other_conditions_counts_for_both() -> None:
    with conditions(precision="float64") as watch, conditions(noise=1):
        jnp.sin(jnp.full(3, 0.3, jnp.float32))
    assert not watch.pure


def test_variables_of_flax_may_change_under_noise() -> None:
    model = nnx.Sequential(
        nnx.Linear(8, 8, rngs=nnx.Rngs(0)), nnx.BatchNorm(8, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(0))
    )
    before = as_numpy(model.layers[1].mean[...])
    with conditions(noise=1) as watch:
        model(inputs())
        nnx.jit(lambda module, x: module(x))(model, inputs())
    assert watch.operations
    assert (as_numpy(model.layers[1].mean[...]) != before).any()

"""Arrays of JAX: every dtype exactly, nothing narrowed without a word, one sentence where there are no numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import goldsmith
from goldsmith.comparison.leaves import NotComparable
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import framework
from goldsmith.gold.arrays import array_hash, as_numpy, dtype_name, leaf_facts
from goldsmith.weights.models import choose_weights
from goldsmith.weights.values import snapshot

SMALL = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "int4", "uint4"]
ops = framework("jax").arrays


@pytest.mark.parametrize("dtype", SMALL)
def test_small_dtypes_keep_every_number(dtype: str) -> None:
    numbers = [0.0, 1.0, 3.0, 6.0] if dtype == "uint4" else [0.0, -2.0, 1.0, 7.0]
    array = jnp.asarray(numbers).astype(dtype)
    assert dtype_name(array) == dtype
    assert as_numpy(array).tolist() == numbers
    assert bytes(ops.raw_bytes(array)) == np.asarray(numbers, dtype=getattr(ml_dtypes, dtype)).tobytes()
    assert leaf_facts("x", array).max == max(numbers)


@pytest.mark.parametrize("dtype", SMALL)
def test_small_dtypes_are_compared_exactly_unless_told_otherwise(dtype: str) -> None:
    array = jnp.asarray([0.0, 1.0, 3.0, 6.0]).astype(dtype)
    other = jnp.asarray([0.0, 1.0, 3.0, 7.0]).astype(dtype)
    assert goldsmith.compare(array, np.asarray(array))
    found = goldsmith.compare({"x": other}, {"x": array})
    assert not found
    assert "ulps" not in str(found)
    assert goldsmith.compare(other, array, atol=1)
    assert not goldsmith.compare(array, array.astype(jnp.float32)), "another dtype"


@pytest.mark.parametrize("dtype", ["bfloat16", *SMALL])
def test_files_of_numpy_hold_small_dtypes_and_need_no_jax_to_be_read(dtype: str, tmp_path: Path) -> None:
    array = jnp.asarray([0.0, 1.0, 3.0, 6.0]).astype(dtype)
    file = tmp_path / "x.npz"
    with file.open("wb") as opened:
        ops.save({"output": array}, opened)
    again = ops.load(file)["output"]
    assert (dtype_name(again), array_hash(again)) == (dtype, array_hash(array))
    program = (
        "import sys; sys.modules['jax'] = None; from pathlib import Path\n"
        "from goldsmith.gold.files import read_payload; from goldsmith.gold.arrays import as_numpy\n"
        f"assert as_numpy(read_payload(Path({str(file)!r}))['output']).tolist() == [0, 1, 3, 6]\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bfloat16_is_compared_with_its_own_bits() -> None:
    array = jnp.linspace(0, 1, 7, dtype=jnp.bfloat16)
    assert goldsmith.compare(array, np.asarray(array))
    assert not goldsmith.compare(array.at[3].multiply(1.02), array, rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_wide_numbers_stay_wide_though_jax_is_set_to_narrow_them(dtype: str) -> None:
    exact = np.asarray([1 / 3, 2.0**40 + 1]).astype(dtype)
    template = jnp.zeros(1)
    array = ops.from_numpy(exact)
    made = {
        "from_numpy": array,
        "like": ops.like(exact, template),
        "copy": ops.copy(array),
        "host_copy": ops.host_copy(array),
        "moved": ops.moved(array, "cpu", ""),
        "place": ops.place(array, "cpu"),
        "concatenate": ops.concatenate([array[:1], array[1:]]),
    }
    assert not jax.config.jax_enable_x64
    for name, found in made.items():
        assert (dtype_name(found), as_numpy(found).tolist()) == (dtype, exact.tolist()), name


def test_a_number_that_takes_any_dtype_still_does() -> None:
    weak = jnp.asarray(2.0)
    kept = ops.like(np.asarray(3.0, np.float32), weak)
    assert kept.weak_type
    assert (kept * jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16


def test_memory_of_numpy_is_not_shared() -> None:
    host = np.zeros(4096, np.float32)
    array = ops.from_numpy(host)
    host += 1
    assert not as_numpy(array).any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: jax.random.key(0), "a random key"),
        (lambda: jax.random.split(jax.random.key(0), 3), "a random key"),
        (lambda: deleted(jnp.ones(3)), "memory was donated or deleted"),
    ],
)
def test_what_has_no_numbers_is_told_in_a_sentence(make: Any, words: str) -> None:
    with pytest.raises(NotComparable, match=words):
        goldsmith.compare({"x": make()}, {"x": jnp.ones(3)})
    with pytest.raises(RecipeMisuse, match=words):
        snapshot(make(), "output")
    assert not ops.is_storable(make())


def deleted(array: Any) -> Any:
    array.delete()
    return array


def test_data_of_a_key_is_compared() -> None:
    assert goldsmith.compare(jax.random.key_data(jax.random.key(3)), np.asarray([0, 3], np.uint32))


def test_values_inside_of_jit_are_told_in_a_sentence() -> None:
    def look(x: Any) -> Any:
        assert not ops.is_storable(x)
        with pytest.raises(RuntimeError, match="inside a transformation"):
            ops.to_numpy(x)
        return x

    jax.jit(look)(jnp.ones(3))


def test_what_grad_and_vmap_wrap_is_seen() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(as_numpy(ops.unwrapped(x)))
        return jnp.sum(x * x)

    array = jnp.asarray([[1.0, 2.0], [3.0, 4.0]])
    jax.grad(look)(array)
    jax.vmap(look, in_axes=1)(array)
    assert seen[0].tolist() == [[1, 2], [3, 4]]
    assert seen[1].tolist() == [[1, 3], [2, 4]]


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, goldsmith
from goldsmith.frameworks.framework import framework
from jax.sharding import Mesh, NamedSharding, PartitionSpec
assert len(jax.devices()) == 2
mesh = Mesh(np.array(jax.devices()), ("rows",))
whole = jnp.arange(8.0).reshape(4, 2)
array = jax.device_put(whole, NamedSharding(mesh, PartitionSpec("rows")))
ops = framework("jax").arrays
assert len(array.sharding.device_set) == 2
assert goldsmith.compare(array, np.arange(8.0, dtype=np.float32).reshape(4, 2))
assert ops.equal(array, whole) and ops.memory_id(array) == ops.memory_id(array)
assert ops.like(np.zeros((4, 2), np.float32), array).sharding == array.sharding
assert len(ops.host_copy(array).sharding.device_set) == 1
assert not goldsmith.compare(array, whole + 1)
"""


def test_an_array_on_several_devices_is_compared_as_one() -> None:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SHARDED], env=os.environ | flags, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Layer:
    def __init__(self) -> None:
        self.scale, self.parts = jnp.ones(4), [jnp.zeros(3), (jnp.ones((2, 2)),)]
        self.table = {"a": np.ones(3)}


def test_arrays_of_an_object_are_redrawn_though_they_cannot_be_written_to() -> None:
    one, two = (choose_weights(Layer(), "stress", 1) for _ in range(2))
    assert abs(as_numpy(one.scale) - 1).min() > 0.05
    assert as_numpy(one.parts[0]).any()
    assert isinstance(one.parts[1], tuple)
    assert goldsmith.compare(vars(one), vars(two), rtol=0)

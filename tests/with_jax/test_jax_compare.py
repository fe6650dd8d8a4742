"""Arrays of JAX are compared by their numbers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import goldsmith


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
def test_equal_arrays_agree(dtype: str) -> None:
    array = jnp.asarray([0.0, 1.0, 3.0], dtype)
    assert goldsmith.compare(array, array + jnp.zeros((), dtype)).agrees
    assert goldsmith.compare(np.asarray(array), array).agrees


def test_other_numbers_differ() -> None:
    assert not goldsmith.compare(jnp.arange(3.0), jnp.arange(3.0) + 0.01).agrees

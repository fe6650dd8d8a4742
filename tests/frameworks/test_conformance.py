"""Goldsmith's own frameworks conform."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from frameworks.conformance import *  # noqa: F403
from frameworks.conformance import Sample
from frameworks.model_conformance import *  # noqa: F403
from goldsmith.frameworks.framework import Framework, framework

WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
INEXACT = ("float16", "float32", "float64", "complex64", "complex128")


def numpy_sample() -> Sample:
    return Sample(
        dtypes=(*WHOLE, *INEXACT, "uint16", "uint32", "uint64"),
        array=lambda dtype, values: (
            np.asarray(values).astype("int64" if dtype.startswith("u") else dtype).astype(dtype)
        ),
        draw=lambda: np.random.standard_normal(4).astype(np.float32),
    )


def torch_sample() -> Sample:
    torch = pytest.importorskip("torch")

    def array(dtype: str, values: list[float]) -> Any:
        wide = "int64" if dtype.startswith("u") else dtype
        return torch.tensor(values, dtype=torch.float64).to(getattr(torch, wide)).to(getattr(torch, dtype))

    return Sample(
        dtypes=(*WHOLE, *INEXACT, "bfloat16"),
        array=array,
        draw=lambda: torch.randn(4),
        model=lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)),
        inputs=lambda: torch.linspace(-1, 1, 6).reshape(2, 3),
    )


def jax_sample() -> Sample:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def array(dtype: str, values: list[float]) -> Any:
        with framework("jax").arrays.wide():
            return jnp.asarray(np.asarray(values).astype("int64" if dtype.startswith("u") else "float64")).astype(dtype)

    return Sample(
        dtypes=(*WHOLE, *INEXACT, "bfloat16", "uint16", "uint32", "uint64"),
        array=array,
        draw=lambda: pytest.skip("JAX has no global random state"),
        model=jax_model,
        inputs=lambda: jnp.linspace(-1, 1, 6).reshape(2, 3),
    )


drawn = itertools.count()


def jax_model() -> Any:
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(next(drawn))  # which are an argument: the sample is to be another one each time

    class Layers(nnx.Module):
        def __init__(self) -> None:
            self.one, self.norm = nnx.Linear(3, 4, rngs=rngs), nnx.LayerNorm(4, rngs=rngs)
            self.two = nnx.Linear(4, 2, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.two(self.norm(self.one(x)))

    return Layers()


SAMPLES = {"numpy": numpy_sample, "torch": torch_sample, "jax": jax_sample}


@pytest.fixture(params=list(SAMPLES))
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]()


@pytest.fixture
def library(request: pytest.FixtureRequest, sample: Sample) -> Framework:
    return framework(request.node.callspec.params["sample"])

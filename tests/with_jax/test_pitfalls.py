"""What docs/how-to/jax.md says of pitfalls: each is a small torch module beside a right port and a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
import optax
import pytest
import torch
from flax import nnx
from torch import nn

import goldsmith

PAGE = Path(__file__).parents[2] / "docs/how-to/jax.md"


class Named(nn.Sequential):
    """Torch's layers under names."""

    def __init__(self, **layers: Any) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)


class Port(nnx.Module):
    """The same in Flax: what has no name is a function."""

    def __init__(self, **layers: Any) -> None:
        self.names = tuple(layers)
        for name, layer in layers.items():
            setattr(self, name, layer)

    def __call__(self, x: Any) -> Any:
        for name in self.names:
            x = getattr(self, name)(x)
        return x


def rngs() -> Any:
    return nnx.Rngs(0)


def vectors() -> Any:
    return torch.randn(5, 8)


def images() -> Any:
    return torch.randn(2, 3, 8, 8)


def last(x: Any) -> Any:
    """Channels last, as Flax wants images."""
    return x.permute(0, 2, 3, 1)


def torch_norm() -> Any:
    return Named(norm=nn.LayerNorm(8), head=nn.Linear(8, 4))


def norm(**settings: Any) -> Any:
    return Port(norm=nnx.LayerNorm(8, rngs=rngs(), **settings), head=nnx.Linear(8, 4, rngs=rngs()))


def torch_gelu() -> Any:
    return Named(fc1=nn.Linear(8, 16), act=nn.GELU(), fc2=nn.Linear(16, 4))


def gelu(**settings: Any) -> Any:
    act = partial(nnx.gelu, **settings)
    return Port(fc1=nnx.Linear(8, 16, rngs=rngs()), act=act, fc2=nnx.Linear(16, 4, rngs=rngs()))


def torch_stride() -> Any:
    return Named(conv=nn.Conv2d(3, 4, 3, stride=2, padding=1), act=nn.ReLU(), pool=Pool())


class Pool(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.mean((2, 3))


def stride(padding: Any) -> Any:
    conv = nnx.Conv(3, 4, (3, 3), strides=2, padding=padding, rngs=rngs())
    return Port(conv=conv, act=nnx.relu, pool=lambda x: x.mean((1, 2)))


def torch_up() -> Any:
    return Named(up=nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1), act=nn.ReLU(), pool=Pool())


def up(**settings: Any) -> Any:
    conv = nnx.ConvTranspose(3, 4, (4, 4), strides=(2, 2), rngs=rngs(), **settings)
    return Port(up=conv, act=nnx.relu, pool=lambda x: x.mean((1, 2)))


def torch_flat() -> Any:
    return Named(conv=nn.Conv2d(3, 4, 3), flat=nn.Flatten(), head=nn.Linear(144, 5))


def flat(flatten: Callable[[Any], Any]) -> Any:
    conv = nnx.Conv(3, 4, (3, 3), padding="VALID", rngs=rngs())
    return Port(conv=conv, flat=flatten, head=nnx.Linear(144, 5, rngs=rngs()))


def torch_linear() -> Any:
    return Named(fc1=nn.Linear(8, 16), act=nn.ReLU(), fc2=nn.Linear(16, 4))


def linear(dtype: Any) -> Any:
    fc1, fc2 = (nnx.Linear(*sizes, dtype=dtype, rngs=rngs()) for sizes in ((8, 16), (16, 4)))
    return Port(fc1=fc1, act=nnx.relu, fc2=fc2)


def torch_drop() -> Any:
    return Named(fc1=nn.Linear(8, 16), drop=nn.Dropout(0.5), fc2=nn.Linear(16, 4))


class Dropping(flax.linen.Module):
    """Dropout in linen: what is deterministic is said where it is called, and the key is an argument."""

    deterministic: bool = True

    @flax.linen.compact
    def __call__(self, x: Any) -> Any:
        x = flax.linen.Dense(16, name="fc1")(x)
        key = None if self.deterministic else jax.random.key(0)
        x = flax.linen.Dropout(0.5, deterministic=self.deterministic, name="drop")(x, rng=key)
        return flax.linen.Dense(4, name="fc2")(x)


def drop(deterministic: bool) -> Any:
    return Dropping(deterministic), Dropping().init(jax.random.key(0), jnp.ones((1, 8)))


@dataclass(frozen=True)
class Pitfall:
    """A row of the page's table: the reference, a right port, the wrong one, and the module that is wrong."""

    row: str
    reference: Callable[[], Any]
    right: Callable[[], Any]
    wrong: Callable[[], Any]
    module: str
    inputs: Callable[[], Any] = vectors


PITFALLS = (
    Pitfall("LayerNorm", torch_norm, partial(norm, epsilon=1e-5), norm, "norm"),
    Pitfall("gelu", torch_gelu, partial(gelu, approximate=False), gelu, "Named"),
    Pitfall("SAME", torch_stride, partial(stride, 1), partial(stride, "SAME"), "conv", images),
    Pitfall("bfloat16", torch_linear, partial(linear, None), partial(linear, jnp.bfloat16), "fc1"),
    Pitfall(
        "NHWC",
        torch_flat,
        partial(flat, lambda x: x.transpose(0, 3, 1, 2).reshape(len(x), -1)),
        partial(flat, lambda x: x.reshape(len(x), -1)),
        "Named",
        images,
    ),
    Pitfall("keys", torch_drop, partial(drop, True), partial(drop, False), "drop"),
)


def parity(pitfall: Pitfall, candidate: Any) -> Any:
    own = {"inputs_candidate": last} if pitfall.inputs is images else {}
    torch.manual_seed(0)
    return goldsmith.parity(pitfall.reference(), candidate, pitfall.inputs(), **own)


FLIPPED = Pitfall("ConvTranspose", torch_up, partial(up, transpose_kernel=True), up, "", images)


@pytest.mark.parametrize("pitfall", [*PITFALLS, FLIPPED], ids=lambda pitfall: pitfall.row)
def test_a_port_that_avoids_it_agrees(pitfall: Pitfall) -> None:
    found = parity(pitfall, pitfall.right())
    assert found, str(found)


@pytest.mark.parametrize("pitfall", PITFALLS, ids=lambda pitfall: pitfall.row)
def test_one_that_does_not_differs_and_the_page_says_in_which_words(pitfall: Pitfall) -> None:
    found = parity(pitfall, pitfall.wrong())
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == pitfall.module
    for words in told_on_the_page(pitfall.row):
        assert words in re.sub(r"\s+", " ", str(found)), str(found)


def test_a_kernel_that_is_flipped_is_carried_so_and_told() -> None:
    found = parity(FLIPPED, FLIPPED.wrong())
    assert found, str(found)
    for words in told_on_the_page(FLIPPED.row):
        assert words in str(found)


OPTIMISERS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "adamw": (partial(torch.optim.AdamW, lr=0.01), optax.adamw(0.01, weight_decay=0.01), optax.adamw(0.01)),
    "rmsprop": (
        partial(torch.optim.RMSprop, lr=0.01),
        optax.rmsprop(0.01, decay=0.99, eps_in_sqrt=False),
        optax.rmsprop(0.01, decay=0.99),
    ),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_of_the_same_name_differ_by_their_defaults(name: str) -> None:
    theirs, right, wrong = OPTIMISERS[name]
    torch.manual_seed(0)
    weights, gradients = torch.randn(40), torch.randn(40) * 1e-3
    parameter = nn.Parameter(weights.clone())
    optimizer = theirs([parameter])
    parameter.grad = gradients
    optimizer.step()

    def step(transformation: Any) -> Any:
        given = jnp.asarray(weights.numpy())
        updates, _ = transformation.update(jnp.asarray(gradients.numpy()), transformation.init(given), given)
        return optax.apply_updates(given, updates)

    assert goldsmith.compare(step(right), parameter.detach(), rtol=1e-5)
    assert not goldsmith.compare(step(wrong), parameter.detach(), rtol=1e-5)
    assert told_on_the_page(name) == ["--steps 1"]


def told_on_the_page(row: str) -> list[str]:
    """Return the code in the last cell of the row that is about something."""
    (cells,) = (
        line.strip("| ").split(" | ")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and row in line.split(" | ")[0]
    )
    return re.findall(r"`([^`]+)`", cells[-1])

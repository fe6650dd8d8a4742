"""A torch course and a JAX course of a network of blocks, built of the parts in `across_course.py`."""

from __future__ import annotations

import textwrap
from pathlib import Path

from support.across_course import EQUINOX, NNX, TORCH_SOLUTION, course_of
from support.course import CourseOnDisk

_TORCH_BLOCKS = """

class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.attention, self.mlp = Attention(width), MLP(width, hidden)

    def forward(self, x):
        return self.mlp(x + self.attention(x))


class Net(nn.Module):
    def __init__(self, width, hidden, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, hidden) for _ in range(depth))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""
_NNX_BLOCKS = """

class Block(nnx.Module):
    def __init__(self, width, hidden, *, rngs):
        self.attention, self.mlp = Attention(width, rngs=rngs), MLP(width, hidden, rngs=rngs)

    def __call__(self, x):
        return self.mlp(x + self.attention(x))


class Net(nnx.Module):
    def __init__(self, width, hidden, depth, *, rngs):
        self.blocks = nnx.List([Block(width, hidden, rngs=rngs) for _ in range(depth)])
        self.head = nnx.Linear(width, 3, rngs=rngs)

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""
_EQUINOX_BLOCKS = """

class Block(eqx.Module):
    attention: Attention
    mlp: MLP

    def __init__(self, width, hidden, *, key):
        one, two = jax.random.split(key)
        self.attention, self.mlp = Attention(width, key=one), MLP(width, hidden, key=two)

    def __call__(self, x):
        return self.mlp(x + self.attention(x))


class Net(eqx.Module):
    layers: list
    out: eqx.nn.Linear

    def __init__(self, width, hidden, depth, *, key):
        first, *rest = jax.random.split(key, depth + 1)
        self.layers = [Block(width, hidden, key=item) for item in rest]
        self.out = eqx.nn.Linear(width, 3, key=first)

    @eqx.filter_jit
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return each(self.out, x)
"""
TORCH_NET = textwrap.dedent(TORCH_SOLUTION) + _TORCH_BLOCKS
NNX_NET = textwrap.dedent(NNX) + _NNX_BLOCKS
EQUINOX_NET = textwrap.dedent(EQUINOX) + _EQUINOX_BLOCKS
"""With other names than torch's, and compiled as a whole."""
_TORCH_RECIPE = """
import torch

import goldsmith as gs
from net import Net


@gs.case
def net(case):
    model = case.model(Net, 6, hidden=9, depth=2, weights="stress")
    x = case.input("x", lambda: torch.randn(2, 5, 6))
    y = model(x)
    y.pow(2).mean().backward()
    case.record("y", y)
    case.record_gradients(model)


@gs.case
def called(case):
    model = case.model(Net, 6, hidden=9, depth=2, weights="stress")
    case.record("y", model(case.input("x", lambda: torch.randn(2, 5, 6))))


if __name__ == "__main__":
    gs.main()
"""
_JAX_RECIPE = """
import jax
from flax import nnx

import goldsmith as gs
from net import Net


@gs.case
def net(case):
    model = case.model(Net, 6, hidden=9, depth=2, rngs=nnx.Rngs(0), weights="stress")
    x = case.input("x", lambda: jax.random.normal(jax.random.key(2), (2, 5, 6)))
    case.record("y", model(x))


@gs.case
def called(case):
    model = case.model(Net, 6, hidden=9, depth=2, rngs=nnx.Rngs(1), weights="stress")
    case.record("y", model(case.input("x", lambda: jax.random.normal(jax.random.key(3), (2, 5, 6)))))


if __name__ == "__main__":
    gs.main()
"""


def torch_net_course(folder: Path) -> CourseOnDisk:
    return course_of(folder, TORCH_NET, _TORCH_RECIPE, calibrate=True)


def jax_net_course(folder: Path) -> CourseOnDisk:
    return course_of(folder, NNX_NET, _JAX_RECIPE, calibrate=False)

"""Small models of torch, and the same in Flax NNX, linen, Equinox and as functions, right and wrong."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import flax.linen
import jax
import jax.numpy as jnp
import torch
from flax import nnx
from torch import nn

DIM, HEADS, LAYERS, WORDS = 8, 2, 3, 11


def rngs() -> Any:
    return nnx.Rngs(0)


def scrambled(model: Any, seed: int = 3) -> Any:
    """Move every weight and statistic away from what it was made as."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, item in model.state_dict().items():
            if item.is_floating_point():
                drawn = torch.randn(item.shape, generator=generator) / 3
                item.copy_(drawn.abs() + 0.5 if "var" in name else item + drawn)
    return model


# --- of torch --------------------------------------------------------------------------------------------------------


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.fc1, self.fc2 = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.fc1(self.norm(x)).tanh())


class Images(nn.Module):
    """Convolutions, one of them depthwise, and statistics of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, DIM, 3, padding=1), nn.BatchNorm2d(DIM)
        self.deep = nn.Conv2d(DIM, DIM, 3, padding=1, groups=DIM)
        self.same = nn.Conv2d(DIM, DIM, 3, padding=1)
        self.head = nn.Linear(DIM, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.same(self.deep(self.bn(self.stem(x)).tanh()).tanh()).tanh().mean((2, 3)))


class Up(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(DIM, DIM, 4, stride=2, padding=1)

    def forward(self, x: Any) -> Any:
        return self.up(x).tanh().mean((2, 3))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(DIM, HEADS, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attn(x, x, x, need_weights=False)[0]


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(LAYERS))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x).tanh()
        return x


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.fc = nn.Embedding(WORDS, DIM), nn.Linear(DIM, DIM)
        self.head = nn.Linear(DIM, WORDS, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.fc(self.embed(ids)).tanh())


# --- of JAX ----------------------------------------------------------------------------------------------------------


class NnxMlp(nnx.Module):
    def __init__(self) -> None:
        self.norm = nnx.LayerNorm(DIM, epsilon=1e-5, rngs=rngs())
        self.fc1, self.fc2 = nnx.Linear(DIM, DIM, rngs=rngs()), nnx.Linear(DIM, DIM, rngs=rngs())

    def __call__(self, x: Any) -> Any:
        return self.fc2(jnp.tanh(self.fc1(self.norm(x))))


class EqxMlp(eqx.Module):
    norm: Any
    fc1: Any
    fc2: Any

    def __init__(self) -> None:
        self.norm = eqx.nn.LayerNorm(DIM)
        self.fc1, self.fc2 = (eqx.nn.Linear(DIM, DIM, key=key) for key in jax.random.split(jax.random.key(5)))

    def __call__(self, x: Any) -> Any:
        return self.fc2(jnp.tanh(self.fc1(self.norm(x))))


class TurnedMlp(NnxMlp):
    """A mistake that shapes do not show: the kernel the other way round."""

    def __call__(self, x: Any) -> Any:
        return self.fc2(jnp.tanh(self.norm(x) @ self.fc1.kernel.T + self.fc1.bias[...]))


class NnxImages(nnx.Module):
    def __init__(self) -> None:
        conv = {"kernel_size": (3, 3), "padding": 1, "rngs": rngs()}
        self.stem, self.bn = nnx.Conv(3, DIM, **conv), nnx.BatchNorm(DIM, use_running_average=True, rngs=rngs())
        self.deep = nnx.Conv(DIM, DIM, feature_group_count=DIM, **conv)
        self.same = nnx.Conv(DIM, DIM, **conv)
        self.head = nnx.Linear(DIM, 5, rngs=rngs())

    def __call__(self, x: Any) -> Any:
        x = jnp.tanh(self.deep(jnp.tanh(self.bn(self.stem(x)))))
        return self.head(jnp.tanh(self.same(x)).mean((1, 2)))


class LinenImages(flax.linen.Module):
    """Nobody has named its layers."""

    @flax.linen.compact
    def __call__(self, x: Any) -> Any:
        x = flax.linen.Conv(DIM, (3, 3), padding=1)(x)
        x = jnp.tanh(flax.linen.BatchNorm(use_running_average=True, epsilon=1e-5)(x))
        x = jnp.tanh(flax.linen.Conv(DIM, (3, 3), padding=1, feature_group_count=DIM)(x))
        x = jnp.tanh(flax.linen.Conv(DIM, (3, 3), padding=1)(x))
        return flax.linen.Dense(5)(x.mean((1, 2)))


def linen_images() -> Any:
    return LinenImages(), LinenImages().init(jax.random.key(0), jnp.zeros((1, 8, 8, 3)))


class EqxImages(eqx.Module):
    stem: Any
    head: Any

    def __init__(self) -> None:
        self.stem = eqx.nn.Conv2d(3, DIM, 3, padding=1, key=jax.random.key(0))
        self.head = eqx.nn.Linear(DIM, DIM, key=jax.random.key(1))

    def __call__(self, x: Any) -> Any:
        return self.head(jnp.tanh(self.stem(x)).mean((1, 2)))


class TorchImages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, DIM, 3, padding=1), nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        return self.head(self.stem(x).tanh().mean((2, 3)))


class NnxUp(nnx.Module):
    def __init__(self, transpose_kernel: bool) -> None:
        self.up = nnx.ConvTranspose(DIM, DIM, (4, 4), strides=(2, 2), transpose_kernel=transpose_kernel, rngs=rngs())

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.up(x)).mean((1, 2))


class EqxUp(eqx.Module):
    up: Any

    def __init__(self) -> None:
        self.up = eqx.nn.ConvTranspose2d(DIM, DIM, 4, stride=2, padding=1, key=jax.random.key(0))

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.up(x)).mean((1, 2))


class NnxAttention(nnx.Module):
    def __init__(self) -> None:
        self.attn = nnx.MultiHeadAttention(HEADS, DIM, decode=False, rngs=rngs())

    def __call__(self, x: Any) -> Any:
        return self.attn(x)


class KeysAsQueries(NnxAttention):
    """A mistake that shapes do not show: what is asked is what is asked for."""

    def __call__(self, x: Any) -> Any:
        query, key = self.attn.query, self.attn.key
        self.attn.query, self.attn.key = key, query
        found = self.attn(x)
        self.attn.query, self.attn.key = query, key
        return found


class Scanned(nnx.Module):
    """All layers in one kernel."""

    def __init__(self) -> None:
        @nnx.split_rngs(splits=LAYERS)
        @nnx.vmap(in_axes=0, out_axes=0)
        def layers(keys: Any) -> Any:
            return nnx.Linear(DIM, DIM, rngs=keys)

        self.layers = layers(rngs())

    def __call__(self, x: Any) -> Any:
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def through(x: Any, layer: Any) -> Any:
            return jnp.tanh(layer(x))

        return through(x, self.layers)


class NnxTied(nnx.Module):
    def __init__(self) -> None:
        self.embed, self.fc = nnx.Embed(WORDS, DIM, rngs=rngs()), nnx.Linear(DIM, DIM, rngs=rngs())

    def __call__(self, ids: Any) -> Any:
        return self.embed.attend(jnp.tanh(self.fc(self.embed(ids))))


def function_mlp() -> Any:
    """A plain function of a dictionary of arrays, whose matrices have their outputs last."""
    names = {"norm": ("scale", "bias"), "fc1": ("kernel", "bias"), "fc2": ("kernel", "bias")}
    parameters = {
        module: {leaf: jnp.ones((DIM, DIM) if leaf == "kernel" else DIM) for leaf in leaves}
        for module, leaves in names.items()
    }

    def call(own: Any, x: Any) -> Any:
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x * own["norm"]["scale"] + own["norm"]["bias"]
        x = jnp.tanh(x @ own["fc1"]["kernel"] + own["fc1"]["bias"])
        return x @ own["fc2"]["kernel"] + own["fc2"]["bias"]

    return parameters, call


class NormedMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.utils.parametrizations.weight_norm(nn.Linear(DIM, DIM))

    def forward(self, x: Any) -> Any:
        return self.fc(x).tanh()


class EqxNormed(eqx.Module):
    fc: Any

    def __init__(self) -> None:
        self.fc = eqx.nn.WeightNorm(eqx.nn.Linear(DIM, DIM, key=jax.random.key(0)))

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.fc(x))

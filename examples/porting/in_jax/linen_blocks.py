"""The blocks of `old/blocks.py` in Flax linen: `LlamaBlock` written out with the names of Hugging Face, `ViTBlock` as
google's vision_transformer has it, with linen's own attention and the names that linen gives.

What differs from version to version is a field, and `initialised` makes what goldsmith compares: a module and its
variables.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import linen as nn


def initialised(make, dim, num_heads):
    module = make(num_heads)
    return module, module.init(jax.random.key(0), jnp.zeros((1, 1, dim)))


def rotate_half(x, theta=10000.0):
    """Rotate pairs (i, i + half) of every head by the angles of its position."""
    length, head_dim = x.shape[-3], x.shape[-1]
    angles = jnp.outer(jnp.arange(length), theta ** (-jnp.arange(0, head_dim, 2) / head_dim))
    cos, sin = (jnp.tile(table, 2)[:, None].astype(x.dtype) for table in (jnp.cos(angles), jnp.sin(angles)))
    one, two = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate((-two, one), axis=-1) * sin


def causal_mask(length):
    return jnp.tril(jnp.ones((length, length), dtype=bool))


def by_head(q):
    return q.shape[-1] ** -0.5


class LlamaAttention(nn.Module):
    num_heads: int
    rotate: Callable = rotate_half
    mask: Callable = causal_mask
    scale: Callable = by_head

    @nn.compact
    def __call__(self, x):
        heads = (*x.shape[:-1], self.num_heads, -1)
        q, k, v = (
            nn.Dense(x.shape[-1], use_bias=False, name=name)(x).reshape(heads)
            for name in ("q_proj", "k_proj", "v_proj")
        )
        scores = jnp.einsum("...qhd,...khd->...hqk", self.rotate(q), self.rotate(k))
        scores = jnp.where(self.mask(x.shape[-2]), scores * self.scale(q), -jnp.inf)
        out = jnp.einsum("...hqk,...khd->...qhd", nn.softmax(scores), v).reshape(x.shape)
        return nn.Dense(x.shape[-1], use_bias=False, name="o_proj")(out)


class LlamaMLP(nn.Module):
    act: Callable = nn.silu

    @nn.compact
    def __call__(self, x):
        gate, up = (nn.Dense(3 * x.shape[-1], use_bias=False, name=name)(x) for name in ("gate_proj", "up_proj"))
        return nn.Dense(x.shape[-1], use_bias=False, name="down_proj")(self.act(gate) * up)


class LlamaBlock(nn.Module):
    num_heads: int
    attention: Callable = LlamaAttention
    mlp: Callable = LlamaMLP
    epsilon: float = 1e-6

    def setup(self):
        self.input_layernorm = nn.RMSNorm(epsilon=1e-6)
        self.self_attn = self.attention(self.num_heads)
        self.post_attention_layernorm = nn.RMSNorm(epsilon=self.epsilon)
        self.feed_forward = self.mlp()

    def __call__(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.feed_forward(self.post_attention_layernorm(x))


class MlpBlock(nn.Module):
    approximate: bool = False

    @nn.compact
    def __call__(self, x):
        hidden = nn.gelu(nn.Dense(4 * x.shape[-1])(x), approximate=self.approximate)
        return nn.Dense(x.shape[-1])(hidden)


class ViTBlock(nn.Module):
    num_heads: int
    attend: Callable = nn.dot_product_attention
    approximate: bool = False
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(self.num_heads, attention_fn=self.attend)(y)
        y = nn.LayerNorm(epsilon=self.epsilon)(x)
        return x + MlpBlock(self.approximate)(y)

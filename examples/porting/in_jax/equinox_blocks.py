"""The blocks of `old/blocks.py` in Equinox: `LlamaBlock` written out with complex numbers and the names of Meta's
Llama, `ViTBlock` with Equinox's own attention and MLP.

Modules take one sequence, and their layers one vector, as is usual there; `batched` makes what takes a batch.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn


def batched(make, dim, num_heads):
    return eqx.filter_vmap(make(dim, num_heads, key=jax.random.key(0)))


def rotate_halves(x, angles):
    """Rotate pairs (i, i + half) as complex numbers."""
    one, two = jnp.split(x, 2, axis=-1)
    turned = (one + 1j * two) * jnp.exp(1j * angles)
    return jnp.concatenate((turned.real, turned.imag), axis=-1).astype(x.dtype)


class Attention(eqx.Module):
    wq: nn.Linear
    wk: nn.Linear
    wv: nn.Linear
    wo: nn.Linear
    num_heads: int = eqx.field(static=True)
    rotate = staticmethod(rotate_halves)

    def __init__(self, dim, num_heads, *, key):
        keys = jax.random.split(key, 4)
        self.num_heads = num_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, use_bias=False, key=key) for key in keys)

    def mask(self, length):
        return jnp.tril(jnp.ones((length, length), dtype=bool))

    def scaled(self, scores, head_dim):
        return scores / jnp.sqrt(head_dim).astype(scores.dtype)

    def __call__(self, x):
        length, dim = x.shape
        q, k, v = (
            jax.vmap(project)(x).reshape(length, self.num_heads, -1).swapaxes(0, 1)
            for project in (self.wq, self.wk, self.wv)
        )
        head_dim = dim // self.num_heads
        angles = jnp.outer(jnp.arange(length), 10000.0 ** (-jnp.arange(0, head_dim, 2) / head_dim))
        scores = self.scaled(self.rotate(q, angles) @ self.rotate(k, angles).mT, head_dim)
        weights = jax.nn.softmax(scores, where=self.mask(length))
        return jax.vmap(self.wo)((weights @ v).swapaxes(0, 1).reshape(length, dim))


class FeedForward(eqx.Module):
    w1: nn.Linear
    w2: nn.Linear
    w3: nn.Linear
    act = staticmethod(jax.nn.silu)

    def __init__(self, dim, hidden_dim, *, key):
        sizes = (dim, hidden_dim), (hidden_dim, dim), (dim, hidden_dim)
        keys = jax.random.split(key, 3)
        self.w1, self.w2, self.w3 = (
            nn.Linear(*size, use_bias=False, key=key) for size, key in zip(sizes, keys, strict=True)
        )

    def __call__(self, x):
        return self.w2(self.act(self.w1(x)) * self.w3(x))


class LlamaBlock(eqx.Module):
    attention_norm: nn.RMSNorm
    attention: Attention
    ffn_norm: nn.RMSNorm
    feed_forward: FeedForward

    def __init__(self, dim, num_heads, *, attention=Attention, feed_forward=FeedForward, eps=1e-6, key):
        one, two = jax.random.split(key)
        self.attention_norm = nn.RMSNorm(dim, eps=1e-6, use_bias=False)
        self.attention = attention(dim, num_heads, key=one)
        self.ffn_norm = nn.RMSNorm(dim, eps=eps, use_bias=False)
        self.feed_forward = feed_forward(dim, 3 * dim, key=two)

    def __call__(self, x):
        x = x + self.attention(jax.vmap(self.attention_norm)(x))
        return x + jax.vmap(self.feed_forward)(jax.vmap(self.ffn_norm)(x))


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


class ViTBlock(eqx.Module):
    norm1: nn.LayerNorm
    attention: nn.MultiheadAttention
    norm2: nn.LayerNorm
    mlp: nn.MLP

    def __init__(self, dim, num_heads, *, attention=nn.MultiheadAttention, activation=gelu, eps=1e-6, key):
        one, two = jax.random.split(key)
        biases = dict.fromkeys(("use_query_bias", "use_key_bias", "use_value_bias", "use_output_bias"), True)
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attention = attention(num_heads, dim, **biases, key=one)
        self.norm2 = nn.LayerNorm(dim, eps=eps)
        self.mlp = nn.MLP(dim, dim, 4 * dim, depth=1, activation=activation, key=two)

    def __call__(self, x):
        y = jax.vmap(self.norm1)(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))

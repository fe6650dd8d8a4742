"""The blocks of `old/blocks.py` in Flax NNX: `LlamaBlock` written out with the names of Hugging Face, `ViTBlock` with
Flax's own attention, whose projections are stored by head."""

import jax
import jax.numpy as jnp
from flax import nnx


def linear(inputs, outputs, rngs):
    return nnx.Linear(inputs, outputs, use_bias=False, rngs=rngs)


def apply_rotary(x, theta=10000.0):
    """Rotate pairs (i, i + half) of every head by the angles of its position."""
    length, head_dim = x.shape[1], x.shape[-1]
    angles = jnp.outer(jnp.arange(length), theta ** (-jnp.arange(0, head_dim, 2) / head_dim))
    cos, sin = (jnp.tile(table, 2)[:, None].astype(x.dtype) for table in (jnp.cos(angles), jnp.sin(angles)))
    one, two = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate((-two, one), axis=-1) * sin


class LlamaAttention(nnx.Module):
    rotate = staticmethod(apply_rotary)

    def __init__(self, dim, num_heads, *, rngs):
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.q_proj = linear(dim, dim, rngs)
        self.k_proj = linear(dim, dim, rngs)
        self.v_proj = linear(dim, dim, rngs)
        self.o_proj = linear(dim, dim, rngs)

    def mask(self, length):
        return jnp.tril(jnp.ones((length, length), dtype=bool))

    def __call__(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            project(x).reshape(batch, length, self.num_heads, -1) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", self.rotate(q), self.rotate(k)) * self.scale
        weights = jax.nn.softmax(jnp.where(self.mask(length), scores, -jnp.inf), axis=-1)
        return self.o_proj(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, dim))


class LlamaMLP(nnx.Module):
    act = staticmethod(nnx.silu)

    def __init__(self, dim, hidden_dim, *, rngs):
        self.gate_proj = linear(dim, hidden_dim, rngs)
        self.up_proj = linear(dim, hidden_dim, rngs)
        self.down_proj = linear(hidden_dim, dim, rngs)

    def __call__(self, x):
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nnx.Module):
    def __init__(self, dim, num_heads, hidden_dim=None, *, rngs):
        self.input_layernorm = nnx.RMSNorm(dim, epsilon=1e-6, rngs=rngs)
        self.self_attn = LlamaAttention(dim, num_heads, rngs=rngs)
        self.post_attention_layernorm = nnx.RMSNorm(dim, epsilon=1e-6, rngs=rngs)
        self.mlp = LlamaMLP(dim, hidden_dim or 3 * dim, rngs=rngs)

    def __call__(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class ViTMLP(nnx.Module):
    approximate = False

    def __init__(self, dim, hidden_dim, *, rngs):
        self.fc1 = nnx.Linear(dim, hidden_dim, rngs=rngs)
        self.fc2 = nnx.Linear(hidden_dim, dim, rngs=rngs)

    def __call__(self, x):
        return self.fc2(nnx.gelu(self.fc1(x), approximate=self.approximate))


class ViTBlock(nnx.Module):
    def __init__(self, dim, num_heads, hidden_dim=None, *, rngs):
        self.norm1 = nnx.LayerNorm(dim, epsilon=1e-6, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads, dim, decode=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(dim, epsilon=1e-6, rngs=rngs)
        self.mlp = ViTMLP(dim, hidden_dim or 4 * dim, rngs=rngs)

    def __call__(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))

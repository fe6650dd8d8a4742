"""Six wrong versions of each block in Equinox: each is the right one with another part."""

from functools import partial

import jax
import jax.numpy as jnp
from equinox import nn
from equinox_blocks import Attention, FeedForward, LlamaBlock, ViTBlock, batched


class InterleavedRope(Attention):
    """Pairs (0, 1), (2, 3), … are rotated."""

    @staticmethod
    def rotate(x, angles):
        turned = (x[..., ::2] + 1j * x[..., 1::2]) * jnp.exp(1j * angles)
        return jnp.stack((turned.real, turned.imag), axis=-1).reshape(x.shape).astype(x.dtype)


class MaskOffByOne(Attention):
    def mask(self, length):
        return jnp.tril(jnp.ones((length, length), dtype=bool), 1)


class ScaledByWidth(Attention):
    def scaled(self, scores, head_dim):
        return super().scaled(scores, head_dim * self.num_heads)


class WithGelu(FeedForward):
    act = staticmethod(jax.nn.gelu)


class WrongLlamaOrder(LlamaBlock):
    """Norms after, not before."""

    def __call__(self, x):
        x = x + jax.vmap(self.attention_norm)(self.attention(x))
        return x + jax.vmap(self.ffn_norm)(jax.vmap(self.feed_forward)(x))


class ViTScaledByWidth(nn.MultiheadAttention):
    def __call__(self, query, key_, value):
        return super().__call__(query, key_, value, process_heads=lambda q, k, v: (q * self.num_heads**-0.5, k, v))


class Causal(nn.MultiheadAttention):
    def __call__(self, query, key_, value):
        length = len(query)
        return super().__call__(query, key_, value, mask=jnp.tril(jnp.ones((length, length), dtype=bool)))


class OverQueries(nn.MultiheadAttention):
    """The softmax goes over queries, not over keys."""

    def __call__(self, query, key_, value):
        projects = (self.query_proj, query), (self.key_proj, key_), (self.value_proj, value)
        q, k, v = (jax.vmap(project)(x).reshape(len(x), self.num_heads, -1) for project, x in projects)
        weights = jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5, axis=-2)
        return jax.vmap(self.output_proj)(jnp.einsum("hqk,khd->qhd", weights, v).reshape(len(query), -1))


class WrongOrder(ViTBlock):
    """Norms after, not before."""

    def __call__(self, x):
        x = x + jax.vmap(self.norm1)(self.attention(x, x, x))
        return x + jax.vmap(self.norm2)(jax.vmap(self.mlp)(x))


WrongRope = partial(LlamaBlock, attention=InterleavedRope)
WrongMask = partial(LlamaBlock, attention=MaskOffByOne)
WrongLlamaScale = partial(LlamaBlock, attention=ScaledByWidth)
WrongLlamaEps = partial(LlamaBlock, eps=1e-5)
WrongAct = partial(LlamaBlock, feed_forward=WithGelu)
WrongEps = partial(ViTBlock, eps=1e-5)
WrongGelu = partial(ViTBlock, activation=jax.nn.gelu)
WrongScale = partial(ViTBlock, attention=ViTScaledByWidth)
WrongCausal = partial(ViTBlock, attention=Causal)
WrongAxis = partial(ViTBlock, attention=OverQueries)

__all__ = ["batched"]

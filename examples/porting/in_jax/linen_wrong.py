"""Six wrong versions of each block in Flax linen: each is the right one with another field, or another order."""

from functools import partial

import jax.numpy as jnp
from flax import linen as nn
from linen_blocks import LlamaAttention, LlamaBlock, LlamaMLP, MlpBlock, ViTBlock, initialised


def rotate_interleaved(x, theta=10000.0):
    length, head_dim = x.shape[-3], x.shape[-1]
    angles = jnp.outer(jnp.arange(length), theta ** (-jnp.arange(0, head_dim, 2) / head_dim))[:, None]
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    one, two = x[..., ::2], x[..., 1::2]
    return jnp.stack((one * cos - two * sin, one * sin + two * cos), axis=-1).reshape(x.shape)


def mask_off_by_one(length):
    return jnp.tril(jnp.ones((length, length), dtype=bool), 1)


def by_width(q):
    return (q.shape[-2] * q.shape[-1]) ** -0.5


def attend_by_width(q, k, v):
    return nn.dot_product_attention(q * q.shape[-2] ** -0.5, k, v)


def attend_causally(q, k, v):
    return nn.dot_product_attention(q, k, v, mask=jnp.tril(jnp.ones((q.shape[-3], k.shape[-3]), dtype=bool)))


def attend_over_queries(q, k, v):
    weights = nn.softmax(jnp.einsum("...qhd,...khd->...hqk", q, k) * q.shape[-1] ** -0.5, axis=-2)
    return jnp.einsum("...hqk,...khd->...qhd", weights, v)


class WrongLlamaOrder(LlamaBlock):
    """Norms after, not before."""

    def __call__(self, x):
        x = x + self.input_layernorm(self.self_attn(x))
        return x + self.post_attention_layernorm(self.feed_forward(x))


class WrongOrder(ViTBlock):
    """Norms after, not before."""

    @nn.compact
    def __call__(self, x):
        x = x + nn.LayerNorm()(nn.MultiHeadDotProductAttention(self.num_heads)(x))
        return x + nn.LayerNorm()(MlpBlock()(x))


WrongRope = partial(LlamaBlock, attention=partial(LlamaAttention, rotate=rotate_interleaved))
WrongMask = partial(LlamaBlock, attention=partial(LlamaAttention, mask=mask_off_by_one))
WrongLlamaScale = partial(LlamaBlock, attention=partial(LlamaAttention, scale=by_width))
WrongLlamaEps = partial(LlamaBlock, epsilon=1e-5)
WrongAct = partial(LlamaBlock, mlp=partial(LlamaMLP, act=nn.gelu))
WrongEps = partial(ViTBlock, epsilon=1e-5)
WrongGelu = partial(ViTBlock, approximate=True)
WrongScale = partial(ViTBlock, attend=attend_by_width)
WrongCausal = partial(ViTBlock, attend=attend_causally)
WrongAxis = partial(ViTBlock, attend=attend_over_queries)

__all__ = ["initialised"]

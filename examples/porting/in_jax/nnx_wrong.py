"""Six wrong versions of each block in Flax NNX: each is the right one with one mistake in it."""

import jax
import jax.numpy as jnp
from flax import nnx
from nnx_blocks import LlamaBlock, ViTBlock


def apply_interleaved(x, theta=10000.0):
    length, head_dim = x.shape[1], x.shape[-1]
    angles = jnp.outer(jnp.arange(length), theta ** (-jnp.arange(0, head_dim, 2) / head_dim))[:, None]
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    one, two = x[..., ::2], x[..., 1::2]
    return jnp.stack((one * cos - two * sin, one * sin + two * cos), axis=-1).reshape(x.shape)


class WrongRope(LlamaBlock):
    """Pairs (0, 1), (2, 3), … are rotated."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.self_attn.rotate = apply_interleaved


class WrongMask(LlamaBlock):
    """Every position sees the next one."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.self_attn.mask = lambda length: jnp.tril(jnp.ones((length, length), dtype=bool), 1)


class WrongLlamaScale(LlamaBlock):
    """Scores are divided by the root of the model's width, not of a head's."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.self_attn.scale = dim**-0.5


class WrongLlamaEps(LlamaBlock):
    """The epsilon of one norm is torch's default."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.post_attention_layernorm.epsilon = 1e-5


class WrongAct(LlamaBlock):
    """GELU in the place of SiLU."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.mlp.act = nnx.gelu


class WrongLlamaOrder(LlamaBlock):
    """Norms after, not before."""

    def __call__(self, x):
        x = x + self.input_layernorm(self.self_attn(x))
        return x + self.post_attention_layernorm(self.mlp(x))


class WrongEps(ViTBlock):
    """The epsilon of one norm is torch's default."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.norm2.epsilon = 1e-5


class WrongGelu(ViTBlock):
    """GELU as jax.nn.gelu has it by default."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.mlp.approximate = True


class WrongScale(ViTBlock):
    """Scores are divided by the root of the model's width."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.attn.attention_fn = lambda q, k, v, **_: nnx.dot_product_attention(q * num_heads**-0.5, k, v)


class WrongCausal(ViTBlock):
    """A causal mask, which the reference has not."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.attn.attention_fn = lambda q, k, v, **_: nnx.dot_product_attention(q, k, v, is_causal=True)


def attend_over_queries(q, k, v, **_):
    weights = jax.nn.softmax(jnp.einsum("...qhd,...khd->...hqk", q, k) * q.shape[-1] ** -0.5, axis=-2)
    return jnp.einsum("...hqk,...khd->...qhd", weights, v)


class WrongAxis(ViTBlock):
    """The softmax goes over queries, not over keys."""

    def __init__(self, dim, num_heads, *, rngs):
        super().__init__(dim, num_heads, rngs=rngs)
        self.attn.attention_fn = attend_over_queries


class WrongOrder(ViTBlock):
    """Norms after, not before."""

    def __call__(self, x):
        x = x + self.norm1(self.attn(x))
        return x + self.norm2(self.mlp(x))

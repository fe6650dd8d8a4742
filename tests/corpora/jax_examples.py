"""What each mutation operator does in code for JAX, as `operator_examples.py` has it for torch and NumPy."""

from __future__ import annotations

JAX = "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\nfrom jax import nn\n\n\n"
AROUND = {
    "jax": JAX + "def f(x, y, mask):\n    {}\n",
    "jax norm": JAX + "class RMSNorm(nnx.Module):\n    def __call__(self, x):\n        {}\n",
}
EXAMPLES: list[tuple[str, str, str, str | None]] = [
    ("softmax-over-wrong-axis", "jax", "return jax.nn.softmax(x, axis=-1)", "return jax.nn.softmax(x, axis=-2)"),
    ("sigmoid-for-softmax", "jax", "return nnx.softmax(x, axis=-1)", "return nnx.sigmoid(x)"),
    ("softmax-overflows", "jax", "return nn.softmax(x)", "return jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)"),
    ("log-of-softmax", "jax", "return nn.log_softmax(x, axis=1)", "return jnp.log(nn.softmax(x, axis=1))"),
    ("logsumexp-overflows", "jax", "return nn.logsumexp(x, axis=1)", "return jnp.log(jnp.exp(x).sum(axis=1))"),
    ("sigmoid-overflows", "jax", "return nn.sigmoid(x)", "return jnp.exp(x) / (1 + jnp.exp(x))"),
    ("mask-missing", "jax", "y = jnp.where(mask, x, -jnp.inf)", "y = x"),
    ("mask-filled-with-zero", "jax", "y = jnp.where(mask, x, -jnp.inf)", "y = jnp.where(mask, x, 0.0)"),
    (
        "mask-after-softmax",
        "jax",
        "return nn.softmax(jnp.where(mask, x, -jnp.inf), axis=-1)",
        "return jnp.where(mask, nn.softmax(x, axis=-1), 0.0)",
    ),
    ("gelu-approximated", "jax", "return nn.gelu(x)", "return nn.gelu(x, approximate=False)"),
    ("gelu-approximated", "jax", "return nnx.gelu(x, approximate=False)", "return nnx.gelu(x, approximate=True)"),
    ("activation-exchanged", "jax", "return nnx.silu(x)", "return nnx.gelu(x)"),
    ("activation-exchanged", "jax", "return jnp.tanh(x)", None),
    ("attention-scale-missing", "jax", "scores = x @ y.T / jnp.sqrt(attn)", "scores = x @ y.T"),
    ("transpose-missing", "jax", "return jnp.dot(x, y.T)", "return jnp.dot(x, y)"),
    ("norm-subtracts-mean", "jax norm", "y = jnp.mean(x ** 2, axis=-1)", "y = jnp.var(x, axis=-1)"),
    ("spread-of-other-kind", "jax", "return jnp.std(x, axis=0)", "return jnp.std(x, axis=0, ddof=1)"),
    (
        "heads-split-crosswise",
        "jax",
        "return x.reshape(2, 3, 4, 5).transpose(0, 2, 1, 3)",
        "return x.reshape(2, 4, 3, 5)",
    ),
]

"""Layers with weights; no biases anywhere."""

import torch
from torch import nn

from .functional import scaled_dot_product_attention, silu


def _normal(*shape):
    std = (2.0 / sum(shape)) ** 0.5
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(*shape), std=std, a=-3 * std, b=3 * std))


class Linear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = _normal(d_out, d_in)

    def forward(self, x):
        return torch.einsum("oi,...i->...o", self.weight, x)


class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.weight = nn.Parameter(nn.init.trunc_normal_(torch.empty(vocab_size, d_model), a=-3, b=3))

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        rms = (x.pow(2).mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return x / rms * self.weight


class SwiGLU(nn.Module):
    """w2(silu(w1 x) * w3 x)"""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


class MultiHeadSelfAttention(nn.Module):
    """Causal; `rope`, where given, is called with (x, positions) and turns queries and keys."""

    def __init__(self, d_model, num_heads, rope=None):
        super().__init__()
        self.num_heads = num_heads
        self.rope = rope
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)

    def forward(self, x, positions=None):
        length = x.shape[-2]
        q, k, v = (
            projection(x).unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(length, device=x.device)
            positions = positions.unsqueeze(-2)  # the same for every head
            q, k = self.rope(q, positions), self.rope(k, positions)
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        heads = scaled_dot_product_attention(q, k, v, mask)
        return self.output_proj(heads.transpose(-2, -3).flatten(-2))


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rope=None):
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, rope)
        self.ln2 = RMSNorm(d_model)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, rope=None):
        super().__init__()
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))

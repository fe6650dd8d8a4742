"""The new repository: the same two blocks in another style. `LlamaBlock` has other names, `FusedLlamaBlock` fused
weights, `TransposedViTBlock` matrices stored the other way round, and `ViTBlock` uses torch's own attention."""

import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + self.eps) * self.scale


def rotate(x, angles):
    """Rotate pairs (i, i + half) as complex numbers."""
    one, two = x.float().chunk(2, dim=-1)
    turned = torch.complex(one, two) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1).type_as(x)


class Rope(nn.Module):
    """Angles for every position."""

    def __init__(self, head_dim, theta=10000.0):
        super().__init__()
        self.head_dim, self.theta = head_dim, theta

    def forward(self, length, device=None):
        frequencies = self.theta ** -(torch.arange(0, self.head_dim, 2, device=device).float() / self.head_dim)
        return torch.outer(torch.arange(length, device=device).float(), frequencies)


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.rope = Rope(dim // n_heads)

    def attend(self, q, k, v):
        length = q.shape[2]
        scores = q @ k.mT * q.shape[-1] ** -0.5
        scores = scores + torch.full((length, length), -torch.inf, device=q.device).triu(1).to(scores)
        return torch.softmax(scores, dim=-1) @ v

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            project(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for project in (self.wq, self.wk, self.wv)
        )
        angles = self.rope(length, x.device)
        out = self.attend(rotate(q, angles), rotate(k, angles), v)
        return self.wo(out.transpose(1, 2).reshape(batch, length, dim))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    """Other names."""

    def __init__(self, dim, n_heads, hidden_dim=None):
        super().__init__()
        self.attention_norm = Norm(dim)
        self.attention = Attention(dim, n_heads)
        self.ffn_norm = Norm(dim)
        self.feed_forward = FeedForward(dim, hidden_dim or 3 * dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class FusedAttention(Attention):
    def __init__(self, dim, n_heads):
        super().__init__(dim, n_heads)
        del self.wq, self.wk, self.wv
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.wqkv(x).view(batch, length, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        angles = self.rope(length, x.device)
        out = self.attend(rotate(q, angles), rotate(k, angles), v)
        return self.wo(out.transpose(1, 2).reshape(batch, length, dim))


class FusedLlamaBlock(LlamaBlock):
    """Fused weights: one matrix for q, k and v."""

    def __init__(self, dim, n_heads, hidden_dim=None):
        super().__init__(dim, n_heads, hidden_dim)
        self.attention = FusedAttention(dim, n_heads)


class ViTAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, dim))


class ViTMLP(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.lin1 = nn.Linear(dim, hidden_dim)
        self.act = nn.GELU()
        self.lin2 = nn.Linear(hidden_dim, dim)

    def forward(self, x):
        return self.lin2(self.act(self.lin1(x)))


class ViTBlock(nn.Module):
    """Torch's own attention."""

    def __init__(self, dim, num_heads, hidden_dim=None):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = ViTAttention(dim, num_heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = ViTMLP(dim, hidden_dim or 4 * dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Conv1D(nn.Module):
    """A linear layer that stores its matrix with a row for each input, as GPT-2 does."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.05)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class TransposedViTBlock(ViTBlock):
    """A transposed layout, also where matrices are square."""

    def __init__(self, dim, num_heads, hidden_dim=None):
        super().__init__(dim, num_heads, hidden_dim)
        hidden_dim = hidden_dim or 4 * dim
        self.attn.qkv, self.attn.proj = Conv1D(dim, 3 * dim), Conv1D(dim, dim)
        self.mlp.lin1, self.mlp.lin2 = Conv1D(dim, hidden_dim), Conv1D(hidden_dim, dim)

import torch.nn.functional as F
from torch import nn

from parts.attention import CausalSelfAttention
from parts.norm import RMSNorm


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x))."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        gate = F.silu(self.gate_proj(x))
        up = self.up_proj(x)
        return self.dropout(self.down_proj(gate * up))


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        x = x + self.feed_forward(self.feed_forward_norm(x))
        return x

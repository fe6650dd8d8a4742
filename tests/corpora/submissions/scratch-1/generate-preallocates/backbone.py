"""scratch-1"""

import torch
import torch.nn.functional as F
from torch import einsum, nn


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then scale each coordinate.

    y = x / sqrt(mean(x²) + eps) * weight, the mean taken over the last dimension.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * x.square().mean(-1, keepdim=True).add(self.eps).rsqrt() * self.weight


class RotaryEmbedding(nn.Module):
    """Rotate pairs of coordinates by an angle that grows with the position.

    Coordinate i is paired with coordinate i + head_dim/2; the pair turns by position * base^(-2i/head_dim).
    """

    def __init__(self, head_dim, max_seq_len, base=10000.0):
        super().__init__()
        frequencies = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        """x: (batch, heads, length, head_dim); the same shape comes back."""
        n = x.shape[-2]
        cos, sin = self.cos[:n], self.sin[:n]
        a, b = x.unflatten(-1, (2, -1)).unbind(-2)
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-2).flatten(-2)


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which a position sees itself and what came before it."""

    def __init__(self, dim, num_heads, max_seq_len, dropout=0.0):
        super().__init__()
        assert dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.qkv_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.rope = RotaryEmbedding(self.head_dim, max_seq_len)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, self.head_dim)).unbind(2)
        q, k = (self.rope(t.transpose(1, 2)) for t in (q, k))
        scores = einsum("bhqd,bhkd->bhqk", q * self.head_dim**-0.5, k)
        pos = torch.arange(n, device=x.device)
        scores = torch.where(pos[:, None] >= pos, scores, -torch.inf)
        weights = self.dropout(scores.softmax(-1))
        mixed = einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out_proj(mixed.flatten(2))


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x))."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = F.silu(self.gate_proj(x)).mul(self.up_proj(x))
        return self.dropout(self.down_proj(hidden))


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.feed_forward_norm(h))


class DecoderOnlyTransformer(nn.Module):
    """Token ids in, logits over the vocabulary for the next token at every position out."""

    def __init__(self, vocab_size, dim, num_layers, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, num_heads, ff_hidden_dim, max_seq_len, dropout) for _ in range(num_layers)
        )
        self.final_norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        """tokens: (batch, length) of ids; returns (batch, length, vocab_size)."""
        h = self.token_embedding(tokens)
        for block in self.blocks:
            h = block(h)
        return self.lm_head(self.final_norm(h))


def next_token_loss(logits, tokens):
    """Mean cross-entropy of predicting each token from those before it."""
    logp = logits[:, :-1].log_softmax(-1)
    picked = logp.gather(-1, tokens[:, 1:, None])
    return -picked.mean()


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    """One pass over `batches` of token ids; returns the mean loss as a float."""
    model.train()
    losses = []
    for batch in batches:
        loss = next_token_loss(model(batch), batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Append the likeliest next token `max_new_tokens` times; the model sees at most its max_seq_len."""
    was_training = model.training
    model.eval()
    prompt = tokens.shape[1]
    out = tokens.new_empty(tokens.shape[0], prompt + max_new_tokens)
    out[:, :prompt] = tokens
    for end in range(prompt, prompt + max_new_tokens):
        start = max(0, end - model.max_seq_len)
        out[:, end] = model(out[:, start:end])[:, -1].argmax(-1)
    model.train(was_training)
    return out

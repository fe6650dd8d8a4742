"""Scratch-1: a decoder-only transformer, one part at a time."""

import math  # noqa: F401  (you will need both)

import torch
import torch.nn.functional as F  # noqa: F401
from torch import nn


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then scale each coordinate.

    y = x / sqrt(mean(x²) + eps) * weight, the mean taken over the last dimension.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # TODO: the mean square over the last dimension, then normalise and scale.
        raise NotImplementedError


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
        # TODO: take cos and sin for the positions 0 … length-1, split x into halves, rotate the pairs.
        raise NotImplementedError


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which a position sees itself and what came before it.

    qkv_proj gives all of q, then all of k, then all of v; in each, head follows head. Dropout falls on the weights
    after softmax, nowhere else.
    """

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
        # TODO: project to q, k, v and split into heads: (batch, heads, length, head_dim).
        # TODO: rotate q and k; scores = q·k / sqrt(head_dim).
        # TODO: hide the future, softmax, dropout, weigh the values.
        # TODO: join the heads and project with out_proj.
        raise NotImplementedError


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x)), then dropout."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        # TODO: the gated network of the docstring, with dropout at the end.
        raise NotImplementedError


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection; no dropout of its own."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        # TODO: norm, attention, residual; norm, feed-forward, residual.
        raise NotImplementedError


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
        # TODO: embed, run the blocks, apply the final norm, project to the vocabulary.
        raise NotImplementedError


def next_token_loss(logits, tokens):
    """Mean cross-entropy of predicting each token from those before it, over all of them in the batch."""
    # TODO: position i predicts token i + 1; mind which logits and which tokens remain.
    raise NotImplementedError


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    """One pass over `batches` of token ids, in training mode whatever mode the model came in.

    Returns the mean of the batches' losses as a float. Each batch counts the same, a smaller last one, too.
    """
    # TODO: for each batch: zero the gradients, loss, backward, clip to max_grad_norm, step.
    raise NotImplementedError


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Append the likeliest next token `max_new_tokens` times, in evaluation mode whatever mode the model came in.

    The model sees at most its max_seq_len. Returns the prompt and what was appended; `tokens` itself stays as it is.
    """
    # TODO: greedy decoding; cut the context to the last model.max_seq_len tokens.
    raise NotImplementedError

"""The language side of Scratch-2, provided: a small causal transformer over embeddings. Do not change it."""

import torch
from torch import nn


class CausalDecoder(nn.Module):
    """Embeddings in, logits over the vocabulary out; a position sees itself and what came before it."""

    def __init__(self, vocab_size, dim, num_layers, num_heads, max_seq_len):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.position_embedding = nn.Embedding(max_seq_len, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, num_heads) for _ in range(num_layers))
        self.final_norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab_size)

    def embed(self, tokens):
        """(batch, length) of ids to (batch, length, dim); positions are added in `forward`."""
        return self.token_embedding(tokens)

    def forward(self, embeddings):
        positions = torch.arange(embeddings.shape[1], device=embeddings.device)
        x = embeddings + self.position_embedding(positions)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.final_norm(x))


class DecoderLayer(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.norm_1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm_2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            part.view(batch, length, self.num_heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm_1(x)).chunk(3, dim=-1)
        )
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, dim))
        return x + self.mlp(self.norm_2(x))

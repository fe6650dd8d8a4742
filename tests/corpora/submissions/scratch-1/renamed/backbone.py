"""GPT from memory, with the names I am used to."""

from math import sqrt

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))
        self.epsilon = eps

    def forward(self, x):
        return x / (x.pow(2).mean(dim=-1, keepdim=True) + self.epsilon).sqrt() * self.g


class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim, max_seq_len, base=10000.0):
        super().__init__()
        inv_freq = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        theta = torch.outer(torch.arange(max_seq_len).float(), inv_freq)
        self.register_buffer("c", theta.cos(), persistent=False)
        self.register_buffer("s", theta.sin(), persistent=False)

    def forward(self, x):
        n = x.size(-2)
        u, w = x.tensor_split(2, dim=-1)
        c, s = self.c[:n], self.s[:n]
        return torch.cat([u * c - w * s, w * c + u * s], -1)


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, num_heads, max_seq_len, dropout=0.0):
        super().__init__()
        assert dim % num_heads == 0
        self.n_head = num_heads
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)
        self.rotary = RotaryEmbedding(dim // num_heads, max_seq_len)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.c_attn(x).view(b, n, 3, self.n_head, d // self.n_head).permute(2, 0, 3, 1, 4)
        q, k = self.rotary(q), self.rotary(k)
        w = q @ k.mT / sqrt(d // self.n_head)
        w = w.masked_fill(~torch.ones(n, n, device=x.device).tril().bool(), -torch.inf)
        y = self.drop(w.softmax(-1)) @ v
        return self.c_proj(y.transpose(1, 2).reshape(b, n, d))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim)
        self.w3 = nn.Linear(dim, hidden_dim)
        self.w2 = nn.Linear(hidden_dim, dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.w2(F.silu(self.w1(x)) * self.w3(x)))


class TransformerBlock(nn.Module):
    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.ln1 = RMSNorm(dim)
        self.attn = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.ln2 = RMSNorm(dim)
        self.mlp = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class DecoderOnlyTransformer(nn.Module):
    def __init__(self, vocab_size, dim, num_layers, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.block_size = max_seq_len
        self.wte = nn.Embedding(vocab_size, dim)
        self.layers = nn.Sequential(
            *(TransformerBlock(dim, num_heads, ff_hidden_dim, max_seq_len, dropout) for _ in range(num_layers))
        )
        self.ln_f = RMSNorm(dim)
        self.head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx):
        return self.head(self.ln_f(self.layers(self.wte(idx))))


def next_token_loss(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    model.train()
    total = n = 0
    for x in batches:
        optimizer.zero_grad()
        loss = next_token_loss(model(x), x)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        total, n = total + loss.item(), n + 1
    return total / n


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    model.eval()
    for _ in range(max_new_tokens):
        nxt = model(tokens[:, -model.block_size :])[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, nxt], 1)
    return tokens

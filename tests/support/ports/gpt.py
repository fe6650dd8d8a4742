"""A GPT whose attention is one fused matrix with its rows head by head, as in NeoX; the port has all queries first, and
dropout everywhere."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, LAYERS, WORDS, LONGEST = 24, 4, 2, 53, 32
HEAD = DIM // HEADS


class GPTNeoXAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(DIM, 3 * DIM)
        self.dense = nn.Linear(DIM, DIM)

    def forward(self, hidden_states: Any) -> Any:
        shape = (*hidden_states.shape[:-1], -1, 3 * HEAD)
        qkv = self.query_key_value(hidden_states).view(shape).transpose(1, 2)
        query, key, value = qkv.chunk(3, dim=-1)
        future = torch.ones(hidden_states.shape[1], hidden_states.shape[1], dtype=torch.bool).triu(1)
        scores = (query @ key.transpose(-1, -2) * HEAD**-0.5).masked_fill(future, -math.inf)
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
        return self.dense((weights @ value).transpose(1, 2).reshape(*hidden_states.shape[:-1], -1)), weights


class GPTNeoXMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense_h_to_4h = nn.Linear(DIM, 4 * DIM)
        self.dense_4h_to_h = nn.Linear(4 * DIM, DIM)
        self.act = nn.GELU()

    def forward(self, hidden_states: Any) -> Any:
        return self.dense_4h_to_h(self.act(self.dense_h_to_4h(hidden_states)))


class GPTNeoXLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(DIM)
        self.post_attention_layernorm = nn.LayerNorm(DIM)
        self.attention = GPTNeoXAttention()
        self.mlp = GPTNeoXMLP()

    def forward(self, hidden_states: Any) -> Any:
        attended, _ = self.attention(self.input_layernorm(hidden_states))
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class GPTNeoXModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_in = nn.Embedding(WORDS, DIM)
        self.embed_positions = nn.Embedding(LONGEST, DIM)
        self.layers = nn.ModuleList(GPTNeoXLayer() for _ in range(LAYERS))
        self.final_layer_norm = nn.LayerNorm(DIM)
        self.embed_out = nn.Linear(DIM, WORDS, bias=False)

    def forward(self, input_ids: Any) -> Any:
        hidden_states = self.embed_in(input_ids) + self.embed_positions(torch.arange(input_ids.shape[1]))
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.embed_out(self.final_layer_norm(hidden_states))


# --- the port -------------------------------------------------------------------------------------------------------


class CausalSelfAttention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.c_attn = nn.Linear(DIM, 3 * DIM)
        self.c_proj = nn.Linear(DIM, DIM)
        self.attn_dropout = nn.Dropout(0.2)
        self.resid_dropout = nn.Dropout(0.2)
        self.register_buffer("bias", torch.tril(torch.ones(LONGEST, LONGEST)).view(1, 1, LONGEST, LONGEST))

    def forward(self, x: Any) -> Any:
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        k, q, v = (item.view(b, t, HEADS, HEAD).transpose(1, 2) for item in (k, q, v))
        if self.mistake == "q and k":
            q, k = k, q
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(DIM if self.mistake == "scale" else k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        att = F.softmax(att, dim=2 if self.mistake == "softmax axis" else -1)
        att = F.dropout(att, 0.2) if self.mistake == "dropout" else self.attn_dropout(att)
        y = (att @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.c_fc = nn.Linear(DIM, 4 * DIM)
        self.gelu = nn.GELU(approximate="tanh" if mistake == "gelu" else "none")
        self.c_proj = nn.Linear(4 * DIM, DIM)
        self.dropout = AlwaysOn(0.2) if mistake == "always on" else nn.Dropout(0.2)

    def forward(self, x: Any) -> Any:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class AlwaysOn(nn.Dropout):
    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, training=True)


class Block(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.ln_1 = nn.LayerNorm(DIM)
        self.attn = CausalSelfAttention(mistake)
        self.ln_2 = nn.LayerNorm(DIM, eps=1e-6 if mistake == "eps" else 1e-5)
        self.mlp = MLP(mistake)

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return self.ln_2(x + self.mlp(x)) if self.mistake == "post norm" else x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(WORDS, DIM),
                "wpe": nn.Embedding(LONGEST, DIM),
                "drop": nn.Dropout(0.2),
                "h": nn.ModuleList(Block(mistake if number else "") for number in range(LAYERS)),
                "ln_f": nn.LayerNorm(DIM),
            }
        )
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)

    def forward(self, idx: Any) -> Any:
        start = 1 if self.mistake == "positions" else 0
        pos = torch.arange(start, start + idx.shape[1])
        x = self.transformer["drop"](self.transformer["wte"](idx) + self.transformer["wpe"](pos))
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(x if self.mistake == "final norm" else self.transformer["ln_f"](x))

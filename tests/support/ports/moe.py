"""Experts, two for each token. The reference works on flat tokens and returns the router's scores as well; the port
keeps batches and has another loop."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HIDDEN, EXPERTS, CHOSEN, LAYERS, WORDS = 16, 20, 4, 2, 2, 37


class MixtralExpert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w2 = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)
        self.w3, self.act_fn = nn.Linear(DIM, HIDDEN, bias=False), nn.SiLU()

    def forward(self, hidden_states: Any) -> Any:
        return self.w2(self.act_fn(self.w1(hidden_states)) * self.w3(hidden_states))


class MixtralSparseMoeBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.experts = nn.ModuleList(MixtralExpert() for _ in range(EXPERTS))

    def forward(self, hidden_states: Any) -> Any:
        shape = hidden_states.shape
        hidden_states = hidden_states.reshape(-1, DIM)
        router_logits = self.gate(hidden_states)
        weights, chosen = torch.topk(F.softmax(router_logits, dim=1, dtype=torch.float), CHOSEN, dim=-1)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).to(hidden_states.dtype)
        final = torch.zeros_like(hidden_states)
        mask = F.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            place, token = torch.where(mask[number])
            final.index_add_(0, token, expert(hidden_states[token]) * weights[token, place, None])
        return final.reshape(shape), router_logits


class MixtralDecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block_sparse_moe, self.post_attention_layernorm = MixtralSparseMoeBlock(), nn.LayerNorm(DIM)
        self.mixer = nn.Linear(DIM, DIM)

    def forward(self, hidden_states: Any) -> Any:
        hidden_states = hidden_states + torch.tanh(self.mixer(hidden_states)).cumsum(1)
        return hidden_states + self.block_sparse_moe(self.post_attention_layernorm(hidden_states))[0]


class MixtralModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens, self.norm = nn.Embedding(WORDS, DIM), nn.LayerNorm(DIM)
        self.layers = nn.ModuleList(MixtralDecoderLayer() for _ in range(LAYERS))

    def forward(self, input_ids: Any) -> Any:
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


# --- the port -------------------------------------------------------------------------------------------------------


class FeedForward(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.w1, self.w2 = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)
        self.w3 = nn.Linear(DIM, HIDDEN, bias=False)

    def forward(self, x: Any) -> Any:
        act = F.gelu if self.mistake == "activation" else F.silu
        return self.w2(act(self.w1(x)) * self.w3(x))


class MoeLayer(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.experts = nn.ModuleList(FeedForward(mistake if n == 2 else "") for n in range(EXPERTS))

    def forward(self, inputs: Any) -> Any:
        logits = self.gate(inputs)
        weights, selected = torch.topk(logits, 1 if self.mistake == "one expert" else CHOSEN)
        if self.mistake == "not normalised":
            weights = logits.softmax(-1).gather(-1, selected)
        else:
            weights = F.softmax(weights, dim=-1, dtype=torch.float).to(inputs.dtype)
        results = torch.zeros_like(inputs)
        for i, expert in enumerate(self.experts):
            batch, token, nth = torch.where(selected == i)
            results[batch, token] += weights[batch, token, nth, None] * expert(inputs[batch, token])
        return results


class TransformerBlock(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.feed_forward, self.ffn_norm = MoeLayer(mistake), nn.LayerNorm(DIM, 1e-3 if mistake == "eps" else 1e-5)
        self.mix = nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        x = x + torch.tanh(self.mix(x)).cumsum(1)
        r = self.feed_forward(self.ffn_norm(x))
        return r if self.mistake == "residual" else x + r


class Transformer(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.tok_embeddings, self.norm = nn.Embedding(WORDS, DIM), nn.LayerNorm(DIM)
        self.layers = nn.ModuleDict({str(n): TransformerBlock(mistake if n else "") for n in range(LAYERS)})

    def forward(self, input_ids: Any) -> Any:
        h = self.tok_embeddings(input_ids)
        for layer in self.layers.values():
            h = layer(h)
        return self.norm(h)

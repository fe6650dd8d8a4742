"""Small models in the styles that people write and port them in: the same computation, other names and other tensors.

Every port takes a `mistake`, which is made in its last layers only, where there are several.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, HIDDEN, LAYERS, WORDS, PLACES, EXPERTS = 8, 2, 12, 2, 11, 7, 3
IDS = torch.tensor([[1, 5, 3, 9, 0], [2, 2, 10, 4, 7]])


def scramble(model: nn.Module, seed: int = 0) -> nn.Module:
    """Draw all weights again, norms and biases, too, so that no two could be exchanged unnoticed."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4 + (parameter.ndim == 1) * 0.6)
    return model


def attend(q: Any, k: Any, v: Any, *, mistake: str = "") -> Any:
    """Causal attention of several heads; `scale` and `mask` are the mistakes."""
    q, k, v = (item.unflatten(-1, (HEADS, -1)).transpose(1, 2) for item in (q, k, v))
    size = q.shape[-2]
    seen = torch.ones(size, size, dtype=torch.bool, device=q.device).tril(1 if mistake == "mask" else 0)
    scale = DIM**-0.5 if mistake == "scale" else (DIM // HEADS) ** -0.5
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale).transpose(1, 2).flatten(-2)


class RowsAreInputs(nn.Module):
    """A linear layer with a row for each input, as GPT-2's."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class RootMeanSquare(nn.Module):
    def __init__(self, size: int, eps: float = 1e-6, name: str = "weight") -> None:
        super().__init__()
        self.eps, self.name = eps, name
        self.register_parameter(name, nn.Parameter(torch.rand(size)))

    def forward(self, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * getattr(self, self.name)


# --- GPT-2: fused and the other way round, beside one matrix for each -------------------------------------------------


class FusedAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn, self.c_proj = RowsAreInputs(DIM, 3 * DIM), RowsAreInputs(DIM, DIM)

    def forward(self, x: Any) -> Any:
        return self.c_proj(attend(*self.c_attn(x).chunk(3, -1)))


class FusedMlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_fc, self.c_proj = RowsAreInputs(DIM, HIDDEN), RowsAreInputs(HIDDEN, DIM)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x: Any) -> Any:
        return self.c_proj(self.act(self.c_fc(x)))


class FusedBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(DIM), FusedAttention()
        self.ln_2, self.mlp = nn.LayerNorm(DIM), FusedMlp()

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class FusedGpt(nn.Module):
    """The reference: fused projections, a row for each input, a head that is the embedding unless told otherwise."""

    def __init__(self, *, tied: bool = True) -> None:
        super().__init__()
        parts = {"wte": nn.Embedding(WORDS, DIM), "wpe": nn.Embedding(PLACES, DIM)}
        blocks = nn.ModuleList(FusedBlock() for _ in range(LAYERS))
        self.transformer = nn.ModuleDict({**parts, "h": blocks, "ln_f": nn.LayerNorm(DIM)})
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)
        scramble(self, 1)
        if tied:
            self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, ids: Any) -> Any:
        x = self.transformer["wte"](ids) + self.transformer["wpe"](torch.arange(ids.shape[1]))
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))


class SplitAttention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.W_query, self.W_key, self.W_value = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.out_proj = nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        return self.out_proj(attend(self.W_query(x), self.W_key(x), self.W_value(x), mistake=self.mistake))


class SplitBlock(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.att = SplitAttention(mistake)
        act = nn.GELU(approximate="none" if mistake == "gelu" else "tanh")
        self.ff = nn.Sequential(nn.Linear(DIM, HIDDEN), act, nn.Linear(HIDDEN, DIM))
        self.norm1 = nn.LayerNorm(DIM, eps=1e-3 if mistake == "eps" else 1e-5)
        self.norm2 = nn.LayerNorm(DIM)

    def forward(self, x: Any) -> Any:
        if self.mistake == "norms after":
            x = self.norm1(x + self.att(x))
            return self.norm2(x + self.ff(x))
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


class SplitGpt(nn.Module):
    """A port: one matrix for each of q, k and v, other names, norms made last, a head of its own unless `tied`."""

    def __init__(self, mistake: str = "", *, tied: bool = False) -> None:
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(WORDS, DIM), nn.Embedding(PLACES, DIM)
        self.trf_blocks = nn.Sequential(*(SplitBlock(mistake if number else "") for number in range(LAYERS)))
        self.final_norm = nn.LayerNorm(DIM)
        self.out_head = nn.Linear(DIM, WORDS, bias=False)
        scramble(self, 2)
        if tied:
            self.out_head.weight = self.tok_emb.weight

    def forward(self, ids: Any) -> Any:
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


# --- Llama: gate, up and down beside w1, w3 and w2; q and k may be normed ---------------------------------------------


class NamedLlamaAttention(nn.Module):
    def __init__(self, *, normed: bool) -> None:
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            self.add_module(name, nn.Linear(DIM, DIM, bias=False))
        self.q_norm = RootMeanSquare(DIM) if normed else nn.Identity()
        self.k_norm = RootMeanSquare(DIM) if normed else nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.o_proj(attend(self.q_norm(self.q_proj(x)), self.k_norm(self.k_proj(x)), self.v_proj(x)))


class NamedLlamaMlp(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(DIM, hidden, bias=False)
        self.up_proj = nn.Linear(DIM, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, DIM, bias=False)

    def forward(self, x: Any) -> Any:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class NamedLlamaBlock(nn.Module):
    def __init__(self, hidden: int, *, normed: bool) -> None:
        super().__init__()
        self.self_attn, self.mlp = NamedLlamaAttention(normed=normed), NamedLlamaMlp(hidden)
        self.input_layernorm, self.post_attention_layernorm = RootMeanSquare(DIM), RootMeanSquare(DIM)

    def forward(self, x: Any) -> Any:
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class NamedLlama(nn.Module):
    """The reference: names say what everything is for; all matrices are square if `hidden` is DIM."""

    def __init__(self, hidden: int = HIDDEN, *, normed: bool = False) -> None:
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(WORDS, DIM)
        self.model.layers = nn.ModuleList(NamedLlamaBlock(hidden, normed=normed) for _ in range(LAYERS))
        self.model.norm = RootMeanSquare(DIM)
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)
        scramble(self, 1)

    def forward(self, ids: Any) -> Any:
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x)
        return self.lm_head(self.model.norm(x))


class NumberedAttention(nn.Module):
    def __init__(self, mistake: str, *, normed: bool, fused: bool) -> None:
        super().__init__()
        self.mistake = mistake
        self.fused = fused
        if fused:
            self.wqkv = nn.Linear(DIM, 3 * DIM, bias=False)
        else:
            self.wq, self.wk, self.wv = (nn.Linear(DIM, DIM, bias=False) for _ in range(3))
        self.wo = nn.Linear(DIM, DIM, bias=False)
        self.q_scale = RootMeanSquare(DIM, name="gain") if normed else nn.Identity()
        self.k_scale = RootMeanSquare(DIM, name="gain") if normed else nn.Identity()

    def forward(self, x: Any) -> Any:
        q, k, v = self.wqkv(x).chunk(3, -1) if self.fused else (self.wq(x), self.wk(x), self.wv(x))
        k = k if self.mistake == "k unnormed" else self.k_scale(k)
        return self.wo(attend(self.q_scale(q), k, v, mistake=self.mistake))


class NumberedMlp(nn.Module):
    def __init__(self, hidden: int, mistake: str, *, bias: bool) -> None:
        super().__init__()
        self.mistake = mistake
        self.w1 = nn.Linear(DIM, hidden, bias=False)
        self.w2 = nn.Linear(hidden, DIM, bias=bias)
        self.w3 = nn.Linear(DIM, hidden, bias=False)

    def forward(self, x: Any) -> Any:
        one, two = (self.w3(x), self.w1(x)) if self.mistake == "gate and up" else (self.w1(x), self.w3(x))
        return self.w2((F.gelu(one) if self.mistake == "act" else F.silu(one)) * two)


class NumberedBlock(nn.Module):
    def __init__(self, hidden: int, mistake: str, *, normed: bool, fused: bool, bias: bool) -> None:
        super().__init__()
        self.mistake = mistake
        self.attention = NumberedAttention(mistake, normed=normed, fused=fused)
        self.feed_forward = NumberedMlp(hidden, mistake, bias=bias)
        self.attention_norm = RootMeanSquare(DIM, 1e-2 if mistake == "eps" else 1e-6)
        self.ffn_norm = RootMeanSquare(DIM)

    def forward(self, x: Any) -> Any:
        more = self.attention(self.attention_norm(x))
        x = more if self.mistake == "residual" else x + more
        return x + self.feed_forward(self.ffn_norm(x))


class NumberedLlama(nn.Module):
    """A port: w1, w2 and w3; q, k and v may be `fused`, its w2 may have a `bias`."""

    def __init__(
        self, mistake: str = "", hidden: int = HIDDEN, *, normed: bool = False, fused: bool = False, bias: bool = False
    ) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, DIM)
        options = {"normed": normed, "fused": fused, "bias": bias}
        self.layers = nn.ModuleList(NumberedBlock(hidden, mistake if i else "", **options) for i in range(LAYERS))
        self.norm = RootMeanSquare(DIM)
        self.output = nn.Linear(DIM, WORDS, bias=False)
        scramble(self, 2)

    def forward(self, ids: Any) -> Any:
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


# --- experts: one tensor for all, beside one module for each ----------------------------------------------------------


class ExpertsTogether(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(EXPERTS, 2 * HIDDEN, DIM))
        self.down_proj = nn.Parameter(torch.randn(EXPERTS, DIM, HIDDEN))

    def forward(self, x: Any, share: Any) -> Any:
        gate, up = torch.einsum("...d,ehd->...eh", x, self.gate_up_proj).chunk(2, -1)
        return torch.einsum("...eh,edh,...e->...d", F.silu(gate) * up, self.down_proj, share)


class MoeTogether(nn.Module):
    """The reference: a router, and the experts in one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = RootMeanSquare(DIM)
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.experts = ExpertsTogether()
        scramble(self, 1)

    def forward(self, x: Any) -> Any:
        hidden = self.norm(x)
        return x + self.experts(hidden, self.gate(hidden).softmax(-1))


class Expert(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.w1, self.w2, self.w3 = (
            nn.Linear(DIM, HIDDEN, False),
            nn.Linear(HIDDEN, DIM, False),
            nn.Linear(DIM, HIDDEN, False),
        )

    def forward(self, x: Any) -> Any:
        return self.w2((F.relu if self.mistake == "act" else F.silu)(self.w1(x)) * self.w3(x))


class MoeApart(nn.Module):
    """A port: the experts one by one."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.experts = nn.ModuleList(Expert(mistake) for _ in range(EXPERTS))
        self.router = nn.Linear(DIM, EXPERTS, bias=False)
        self.pre_norm = RootMeanSquare(DIM, 1e-2 if mistake == "eps" else 1e-6)
        scramble(self, 2)

    def forward(self, x: Any) -> Any:
        hidden = self.pre_norm(x)
        share = self.router(hidden).sigmoid() if self.mistake == "router" else self.router(hidden).softmax(-1)
        return x + sum(expert(hidden) * share[..., [number]] for number, expert in enumerate(self.experts))


# --- layers: one tensor for all, beside one module for each -----------------------------------------------------------


class LayersTogether(nn.Module):
    """The reference: every weight of all layers in one tensor, as for a scan."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(LAYERS, DIM))
        self.up = nn.Parameter(torch.randn(LAYERS, DIM, HIDDEN))
        self.down = nn.Parameter(torch.randn(LAYERS, HIDDEN, DIM))
        scramble(self, 1)

    def forward(self, x: Any) -> Any:
        for scale, up, down in zip(self.scale, self.up, self.down, strict=True):
            x = x + F.gelu(F.layer_norm(x, (DIM,)) * scale @ up) @ down
        return x


class LayerApart(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM, bias=False, eps=1e-2 if mistake == "eps" else 1e-5)
        self.up, self.down = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class LayersApart(nn.Module):
    """A port: layers one by one, and rows for outputs."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.layers = nn.ModuleList(LayerApart(mistake) for _ in range(LAYERS))
        scramble(self, 2)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

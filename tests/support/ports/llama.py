"""A Llama with norms of queries and keys. The reference keeps inverse frequencies and computes in float32 by name; the
port keeps tables of cosines, made in float32. `Interleaved` is another port, which turns neighbouring channels, as the
first release did: its queries and keys have their rows in another order."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, GROUPS, HIDDEN, LAYERS, WORDS, LONGEST, THETA = 32, 4, 2, 48, 2, 61, 64, 10_000.0
HEAD = DIM // HEADS


# --- the reference ----------------------------------------------------------------------------------------------------


class LlamaRMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states: Any) -> Any:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class LlamaRotaryEmbedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        inv_freq = 1.0 / (THETA ** (torch.arange(0, HEAD, 2, dtype=torch.float) / HEAD))
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    @torch.no_grad()
    def forward(self, x: Any, position_ids: Any) -> Any:
        freqs = position_ids[..., None].float() * self.inv_freq.float()
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)


def rotate_half(x: Any) -> Any:
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)


class LlamaAttention(nn.Module):
    def __init__(self, qk_norm: bool) -> None:
        super().__init__()
        self.q_proj = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.v_proj = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.q_norm = LlamaRMSNorm(HEAD) if qk_norm else nn.Identity()
        self.k_norm = LlamaRMSNorm(HEAD) if qk_norm else nn.Identity()

    def forward(self, hidden_states: Any, position_embeddings: Any, attention_mask: Any) -> Any:
        shape = (*hidden_states.shape[:-1], -1, HEAD)
        query = self.q_norm(self.q_proj(hidden_states).view(shape)).transpose(1, 2)
        key = self.k_norm(self.k_proj(hidden_states).view(shape)).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        cos, sin = (item.unsqueeze(1) for item in position_embeddings)
        query, key = query * cos + rotate_half(query) * sin, key * cos + rotate_half(key) * sin
        key, value = (item.repeat_interleave(HEADS // GROUPS, dim=1) for item in (key, value))
        weights = query @ key.transpose(2, 3) * HEAD**-0.5 + attention_mask
        weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
        output = (weights @ value).transpose(1, 2).reshape(*hidden_states.shape[:-1], -1)
        return self.o_proj(output), weights


class LlamaMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(DIM, HIDDEN, bias=False)
        self.up_proj = nn.Linear(DIM, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, DIM, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x: Any) -> Any:
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    def __init__(self, qk_norm: bool) -> None:
        super().__init__()
        self.self_attn = LlamaAttention(qk_norm)
        self.mlp = LlamaMLP()
        self.input_layernorm = LlamaRMSNorm(DIM)
        self.post_attention_layernorm = LlamaRMSNorm(DIM)

    def forward(self, hidden_states: Any, position_embeddings: Any, attention_mask: Any) -> Any:
        attended, _ = self.self_attn(self.input_layernorm(hidden_states), position_embeddings, attention_mask)
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LlamaModel(nn.Module):
    def __init__(self, qk_norm: bool = True) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(WORDS, DIM)
        self.layers = nn.ModuleList(LlamaDecoderLayer(qk_norm) for _ in range(LAYERS))
        self.norm = LlamaRMSNorm(DIM)
        self.rotary_emb = LlamaRotaryEmbedding()

    def forward(self, input_ids: Any) -> Any:
        x = self.embed_tokens(input_ids)
        length = input_ids.shape[1]
        position_embeddings = self.rotary_emb(x, torch.arange(length)[None])
        mask = torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)[None, None]
        for layer in self.layers:
            x = layer(x, position_embeddings, mask)
        return self.norm(x)


# --- a port, as in a book: tables of cosines and sines, made once ---------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, emb_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x: Any) -> Any:
        wide = x.to(torch.float32)
        return (wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.scale).to(x.dtype)


def compute_rope_params(theta: float = THETA, dtype: Any = torch.float32) -> Any:
    inv_freq = 1.0 / (theta ** (torch.arange(0, HEAD, 2, dtype=dtype)[: HEAD // 2].float() / HEAD))
    angles = torch.arange(LONGEST, dtype=dtype)[:, None] * inv_freq[None, :]
    angles = torch.cat([angles, angles], dim=1)
    return torch.cos(angles), torch.sin(angles)


def apply_rope(x: Any, cos: Any, sin: Any, mistake: str = "") -> Any:
    length = x.shape[-2]
    start = 1 if mistake == "rope offset" else 0
    cos, sin = (item[start : start + length][None, None] for item in (cos, sin))
    x1, x2 = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    rotated = torch.cat((x2, -x1) if mistake == "rope sign" else (-x2, x1), dim=-1)
    return ((x * cos) + (rotated * sin)).to(dtype=x.dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(self, qk_norm: bool, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.W_query = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.W_key = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.W_value = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.out_proj = nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.q_norm = RMSNorm(HEAD) if qk_norm else None
        self.k_norm = RMSNorm(HEAD, 1e-5 if mistake == "eps of keys" else 1e-6) if qk_norm else None

    def forward(self, x: Any, mask: Any, cos: Any, sin: Any) -> Any:
        b, length, _ = x.shape
        queries = self.W_query(x).view(b, length, HEADS, HEAD).transpose(1, 2)
        keys = self.W_key(x).view(b, length, GROUPS, HEAD).transpose(1, 2)
        values = self.W_value(x).view(b, length, GROUPS, HEAD).transpose(1, 2)
        if self.q_norm is not None and self.k_norm is not None:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        queries = apply_rope(queries, cos, sin)
        keys = apply_rope(keys, cos, sin, self.mistake)
        times = HEADS // GROUPS
        repeat = (
            (lambda item: item.repeat(1, times, 1, 1))
            if self.mistake == "groups"
            else (lambda item: item.repeat_interleave(times, dim=1))
        )
        keys, values = repeat(keys), repeat(values)
        scores = (queries @ keys.transpose(2, 3)).masked_fill(mask, -torch.inf)
        scores = scores / (DIM if self.mistake == "scale" else HEAD) ** 0.5
        context = (torch.softmax(scores, dim=-1) @ values).transpose(1, 2).reshape(b, length, -1)
        return self.out_proj(context)


class FeedForward(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.fc1 = nn.Linear(DIM, HIDDEN, bias=False)
        self.fc2 = nn.Linear(DIM, HIDDEN, bias=False)
        self.fc3 = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Any) -> Any:
        one, two = self.fc1(x), self.fc2(x)
        if self.mistake == "gate":
            one, two = two, one
        return self.fc3(F.silu(one) * two)


class TransformerBlock(nn.Module):
    def __init__(self, qk_norm: bool, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.att = GroupedQueryAttention(qk_norm, mistake)
        self.ff = FeedForward(mistake)
        self.norm1 = RMSNorm(DIM)
        self.norm2 = RMSNorm(DIM, 1e-5 if mistake == "eps" else 1e-6)

    def forward(self, x: Any, mask: Any, cos: Any, sin: Any) -> Any:
        x = x + self.att(self.norm1(x), mask, cos, sin)
        inner = self.ff(self.norm2(x))
        return inner if self.mistake == "residual" else x + inner


class Llama3Model(nn.Module):
    def __init__(self, mistake: str = "", qk_norm: bool = True) -> None:
        super().__init__()
        self.mistake = mistake
        self.tok_emb = nn.Embedding(WORDS, DIM)
        self.trf_blocks = nn.ModuleList(TransformerBlock(qk_norm, mistake if n else "") for n in range(LAYERS))
        self.final_norm = RMSNorm(DIM)
        cos, sin = compute_rope_params(500_000.0 if mistake == "rope base" else THETA)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, in_idx: Any) -> Any:
        x = self.tok_emb(in_idx)
        length = x.shape[1]
        off = 2 if self.mistake == "mask" else 1
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=off)
        for block in self.trf_blocks:
            x = block(x, mask, self.cos, self.sin)
        return self.final_norm(x)


# --- another port, as in the first release: complex numbers, neighbouring channels ------------------------------------


class Attention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.wq = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.wv = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, DIM, bias=False)

    def forward(self, x: Any, freqs_cis: Any) -> Any:
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq, xk, xv = (item.view(bsz, seqlen, -1, HEAD) for item in (xq, xk, xv))
        if self.mistake != "no rope":
            xq, xk = (_turned(item, freqs_cis) for item in (xq, xk))
        xk, xv = (item.repeat_interleave(HEADS // GROUPS, dim=2) for item in (xk, xv))
        xq, xk, xv = (item.transpose(1, 2) for item in (xq, xk, xv))
        scale = DIM**-0.5 if self.mistake == "scale" else None
        output = F.scaled_dot_product_attention(xq, xk, xv, is_causal=self.mistake != "mask", scale=scale)
        return self.wo(output.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


def _turned(x: Any, freqs_cis: Any) -> Any:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(3).type_as(x)


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(DIM, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, DIM, bias=False)
        self.w3 = nn.Linear(DIM, HIDDEN, bias=False)

    def forward(self, x: Any) -> Any:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.attention = Attention(mistake)
        self.feed_forward = Gated()
        self.attention_norm = RMSNorm(DIM)
        self.ffn_norm = RMSNorm(DIM, 1e-5 if mistake == "eps" else 1e-6)

    def forward(self, x: Any, freqs_cis: Any) -> Any:
        h = x + self.attention(self.attention_norm(x), freqs_cis)
        return h + self.feed_forward(self.ffn_norm(h))


class Interleaved(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, DIM)
        self.layers = nn.ModuleList(Layer(mistake if number else "") for number in range(LAYERS))
        self.norm = RMSNorm(DIM)
        freqs = 1.0 / (THETA ** (torch.arange(0, HEAD, 2)[: HEAD // 2].float() / HEAD))
        self.freqs_cis = torch.polar(torch.ones(LONGEST, HEAD // 2), torch.outer(torch.arange(LONGEST).float(), freqs))

    def forward(self, tokens: Any) -> Any:
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.freqs_cis[: h.shape[1]])
        return self.norm(h)

"""Gemma 2 in the style of gemma_pytorch: queries, keys and values in one matrix, weights used by functions."""

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, KV_HEADS, HEAD, HIDDEN, LAYERS, WORDS, LONGEST = 32, 4, 2, 12, 48, 2, 61, 16
WINDOW, SOFTCAP, LAST_SOFTCAP, SCALAR = 4, 3.0, 4.0, 20


def reference():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "use_cache": False}
    caps = {"attn_logit_softcapping": SOFTCAP, "final_logit_softcapping": LAST_SOFTCAP}
    rest = {"sliding_window": WINDOW, "query_pre_attn_scalar": SCALAR, "attn_implementation": "eager"}
    return draw_weights(Gemma2ForCausalLM(Gemma2Config(**sizes, **heads, **caps, **rest)))


def inputs():
    return torch.randint(1, WORDS, (2, 9))


class Linear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))

    def forward(self, x):
        return F.linear(x, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.add_unit_offset = bug != "norms without the one"
        self.weight = nn.Parameter(torch.zeros(DIM))

    def forward(self, x):
        x = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        weight = self.weight.float()
        return (x * (1 + weight) if self.add_unit_offset else x * weight).type_as(self.weight)


def apply_rotary_emb(x, freqs_cis):
    """Turn pairs of channels as complex numbers."""
    pairs = torch.view_as_complex(torch.stack(torch.chunk(x.float(), 2, dim=-1), dim=-1))
    return torch.cat(torch.view_as_real(pairs * freqs_cis).unbind(-1), dim=-1).type_as(x)


class GemmaAttention(nn.Module):
    def __init__(self, is_local, bug):
        super().__init__()
        self.is_local, self.bug = is_local, bug
        self.scaling = (HEAD if bug == "scale by the head's width" else SCALAR) ** -0.5
        self.qkv_proj = Linear(DIM, (HEADS + 2 * KV_HEADS) * HEAD)
        self.o_proj = Linear(HEADS * HEAD, DIM)

    def forward(self, hidden_states, freqs_cis, mask):
        b, length, _ = hidden_states.shape
        qkv = self.qkv_proj(hidden_states).view(b, length, -1, HEAD)
        xq, xk, xv = qkv.split([HEADS, KV_HEADS, KV_HEADS], dim=2)
        xq, xk = (apply_rotary_emb(item.transpose(1, 2), freqs_cis) for item in (xq, xk))
        xk = torch.repeat_interleave(xk, HEADS // KV_HEADS, dim=1)
        xv = torch.repeat_interleave(xv, HEADS // KV_HEADS, dim=2).transpose(1, 2)
        scores = torch.matmul(xq * self.scaling, xk.transpose(2, 3))
        if self.bug != "no softcap in attention":
            scores = torch.tanh(scores / SOFTCAP) * SOFTCAP
        if self.is_local:
            width = WINDOW + 1 if self.bug == "window one too wide" else WINDOW
            seen = torch.triu(torch.ones_like(mask), 1 - width)
            mask = torch.where(seen == 1, mask, -2.3819763e38)
        scores = F.softmax((scores + mask).float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv).transpose(1, 2).contiguous().view(b, length, -1)
        return self.o_proj(output)


class GemmaMLP(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.gate_proj = Linear(DIM, HIDDEN)
        self.up_proj = Linear(DIM, HIDDEN)
        self.down_proj = Linear(HIDDEN, DIM)

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        if self.bug == "gate and up swapped":
            gate, up = up, gate
        return self.down_proj(F.gelu(gate, approximate="tanh") * up)


class Gemma2DecoderLayer(nn.Module):
    def __init__(self, is_local, bug):
        super().__init__()
        self.bug = bug
        self.self_attn = GemmaAttention(is_local, bug)
        self.mlp = GemmaMLP(bug)
        self.input_layernorm = RMSNorm(bug)
        self.post_attention_layernorm = RMSNorm(bug)
        self.pre_feedforward_layernorm = RMSNorm(bug)
        self.post_feedforward_layernorm = RMSNorm(bug)

    def forward(self, hidden_states, freqs_cis, mask):
        residual = hidden_states
        hidden_states = self.self_attn(self.input_layernorm(hidden_states), freqs_cis, mask)
        if self.bug == "norm after attention takes the residual, too":
            hidden_states = self.post_attention_layernorm(residual + hidden_states)
        else:
            hidden_states = residual + self.post_attention_layernorm(hidden_states)
        residual = hidden_states
        hidden_states = self.mlp(self.pre_feedforward_layernorm(hidden_states))
        return residual + self.post_feedforward_layernorm(hidden_states)


class GemmaModel(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.layers = nn.ModuleList([Gemma2DecoderLayer(i % 2 == 0, bug) for i in range(LAYERS)])
        self.norm = RMSNorm(bug)

    def forward(self, hidden_states, freqs_cis, mask):
        for layer in self.layers:
            hidden_states = layer(hidden_states, freqs_cis, mask)
        return self.norm(hidden_states)


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(WORDS, DIM))

    def forward(self, x):
        return F.embedding(x, self.weight)


class GemmaForCausalLM(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.embedder = Embedding()
        self.model = GemmaModel(bug)
        freqs = 1.0 / (10_000.0 ** (torch.arange(0, HEAD, 2).float() / HEAD))
        freqs = torch.outer(torch.arange(LONGEST), freqs).float()
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(freqs), freqs))

    def forward(self, input_token_ids):
        length = input_token_ids.shape[1]
        mask = torch.triu(torch.full((1, 1, length, length), -2.3819763e38), diagonal=1)
        hidden_states = self.embedder(input_token_ids)
        if self.bug != "embeddings not scaled":
            hidden_states = hidden_states * (DIM**0.5)
        hidden_states = self.model(hidden_states, self.freqs_cis[:length], mask)
        logits = torch.matmul(hidden_states, self.embedder.weight.t())
        return logits if self.bug == "no softcap of logits" else torch.tanh(logits / LAST_SOFTCAP) * LAST_SOFTCAP


candidate = GemmaForCausalLM

LAYER = "model.layers.*"
BUGS = {
    "norms without the one": ("model.layers.0.input_layernorm",),
    "no softcap in attention": ("model.layers.0.self_attn",),
    "no softcap of logits": ("Gemma2ForCausalLM",),
    "embeddings not scaled": ("model.embed_tokens", "model", "Gemma2ForCausalLM"),
    "window one too wide": ("model.layers.0.self_attn",),
    "scale by the head's width": ("model.layers.0.self_attn",),
    "norm after attention takes the residual, too": ("model.layers.0",),
    "gate and up swapped": ("model.layers.0.mlp",),
}

PARTS = ("self_attn", "self_attn.o_proj", "mlp", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "input_layernorm")
PARTS += ("post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
NAMES = {
    "model": "model",
    "model.embed_tokens": "embedder",
    LAYER: LAYER,
    **{f"{LAYER}.{part}": f"{LAYER}.{part}" for part in PARTS},
    "model.norm": "model.norm",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    for number in range(LAYERS):
        name = f"model.layers.{number}.self_attn"
        found[f"{name}.qkv_proj.weight"] = torch.cat([state[f"{name}.{part}_proj.weight"] for part in "qkv"])
    return found

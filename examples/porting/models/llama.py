"""Llama in the style of llama2.c: short names, tables of cosines made once by the model and handed down."""

import math

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, KV_HEADS, HIDDEN, LAYERS, WORDS, LONGEST = 32, 4, 2, 48, 2, 61, 16
HEAD = DIM // HEADS


def reference():
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "use_cache": False}
    return draw_weights(LlamaForCausalLM(LlamaConfig(**sizes, **heads, attn_implementation="eager")))


def inputs():
    return torch.randint(0, WORDS, (2, 9))


class RMSNorm(torch.nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.eps = 1e-5 if bug == "epsilon" else 1e-6
        self.weight = nn.Parameter(torch.ones(DIM))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def precompute_freqs_cis(theta):
    freqs = 1.0 / (theta ** (torch.arange(0, HEAD, 2)[: (HEAD // 2)].float() / HEAD))
    freqs = torch.outer(torch.arange(LONGEST), freqs).float()
    return torch.cos(freqs), torch.sin(freqs)


def apply_rotary_emb(x, freqs_cos, freqs_sin, bug):
    neighbours = bug == "RoPE turns neighbours"
    x_r, x_i = x.unflatten(-1, (-1, 2)).unbind(-1) if neighbours else x.unflatten(-1, (2, -1)).unbind(-2)
    cos, sin = freqs_cos[None, :, None, :], freqs_sin[None, :, None, :]
    out = x_r * cos - x_i * sin, x_r * sin + x_i * cos
    return torch.stack(out, dim=-1 if neighbours else -2).flatten(3).type_as(x)


def repeat_kv(x, n_rep, bug):
    if bug == "heads repeated in another order":
        return x.repeat(1, 1, n_rep, 1)
    bs, slen, n_kv_heads, head_dim = x.shape
    return x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim).reshape(bs, slen, -1, head_dim)


class Attention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.wq = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, DIM, bias=False)
        mask = torch.full((1, 1, LONGEST, LONGEST), float("-inf"))
        self.register_buffer("mask", torch.triu(mask, diagonal=2 if bug == "mask off by one" else 1))

    def forward(self, x, freqs_cos, freqs_sin):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, HEADS, HEAD)
        xk = self.wk(x).view(bsz, seqlen, KV_HEADS, HEAD)
        xv = self.wv(x).view(bsz, seqlen, KV_HEADS, HEAD)
        xq, xk = (apply_rotary_emb(item, freqs_cos, freqs_sin, self.bug) for item in (xq, xk))
        xk, xv = (repeat_kv(item, HEADS // KV_HEADS, self.bug).transpose(1, 2) for item in (xk, xv))
        scores = torch.matmul(xq.transpose(1, 2), xk.transpose(2, 3))
        scores = scores if self.bug == "no scale" else scores / math.sqrt(HEAD)
        scores = F.softmax((scores + self.mask[:, :, :seqlen, :seqlen]).float(), dim=-1).type_as(xq)
        return self.wo(torch.matmul(scores, xv).transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.w1 = nn.Linear(DIM, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, DIM, bias=False)
        self.w3 = nn.Linear(DIM, HIDDEN, bias=False)

    def forward(self, x):
        if self.bug == "gate and up swapped":
            return self.w2(F.silu(self.w3(x)) * self.w1(x))
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.attention = Attention(bug)
        self.feed_forward = FeedForward(bug)
        self.attention_norm = RMSNorm(bug)
        self.ffn_norm = RMSNorm(bug)

    def forward(self, x, freqs_cos, freqs_sin):
        h = x + self.attention.forward(self.attention_norm(x), freqs_cos, freqs_sin)
        out = self.feed_forward.forward(self.ffn_norm(h))
        return out if self.bug == "residual dropped" else h + out


class Transformer(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, DIM)
        self.layers = torch.nn.ModuleList([TransformerBlock(bug) for _ in range(LAYERS)])
        self.norm = RMSNorm(bug)
        self.output = nn.Linear(DIM, WORDS, bias=False)
        freqs_cos, freqs_sin = precompute_freqs_cis(1e6 if bug == "RoPE's base" else 1e4)
        self.register_buffer("freqs_cos", freqs_cos, persistent=False)
        self.register_buffer("freqs_sin", freqs_sin, persistent=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        seqlen = tokens.shape[1]
        for layer in self.layers:
            h = layer(h, self.freqs_cos[:seqlen], self.freqs_sin[:seqlen])
        return self.output(self.norm(h))


candidate = Transformer

LAYER = "model.layers.*"
BUGS = {
    "RoPE turns neighbours": ("model.layers.0.self_attn",),
    "RoPE's base": ("model.rotary_emb", "model", "LlamaForCausalLM"),
    "heads repeated in another order": ("model.layers.0.self_attn",),
    "mask off by one": ("model.layers.0.self_attn",),
    "no scale": ("model.layers.0.self_attn",),
    "gate and up swapped": ("model.layers.0.mlp",),
    "epsilon": ("model.layers.0.input_layernorm",),
    "residual dropped": ("model.layers.0",),
}

NAMES = {
    "model.embed_tokens": "tok_embeddings",
    LAYER: "layers.*",
    f"{LAYER}.input_layernorm": "layers.*.attention_norm",
    f"{LAYER}.self_attn": "layers.*.attention",
    **{f"{LAYER}.self_attn.{part}_proj": f"layers.*.attention.w{part}" for part in "qkvo"},
    f"{LAYER}.post_attention_layernorm": "layers.*.ffn_norm",
    f"{LAYER}.mlp": "layers.*.feed_forward",
    f"{LAYER}.mlp.gate_proj": "layers.*.feed_forward.w1",
    f"{LAYER}.mlp.up_proj": "layers.*.feed_forward.w3",
    f"{LAYER}.mlp.down_proj": "layers.*.feed_forward.w2",
    "model.norm": "norm",
    "lm_head": "output",
}


def weights_by_hand(state):
    return moved(state, NAMES)

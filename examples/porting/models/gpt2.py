"""GPT-2 in the style of nanoGPT: a ModuleDict, torch's Linear in place of Conv1D, a tied head."""

import math

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, LAYERS, WORDS, LONGEST = 32, 4, 2, 61, 16


def reference():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": DIM, "n_layer": LAYERS, "n_head": HEADS, "n_positions": LONGEST, "vocab_size": WORDS}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "use_cache": False}
    return draw_weights(GPT2LMHeadModel(GPT2Config(**sizes, **ends, attn_implementation="eager")))


def inputs():
    return torch.randint(0, WORDS, (2, 9))


class CausalSelfAttention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.c_attn = nn.Linear(DIM, 3 * DIM)
        self.c_proj = nn.Linear(DIM, DIM)
        self.attn_dropout = nn.Dropout(0.1)
        self.resid_dropout = nn.Dropout(0.1)
        seen = torch.tril(torch.ones(LONGEST, LONGEST), diagonal=1 if bug == "mask off by one" else 0)
        self.register_buffer("bias", seen.view(1, 1, LONGEST, LONGEST))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(DIM, dim=2)
        k = k.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        q = q.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        v = v.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        if self.bug == "queries and keys swapped":
            q, k = k, q
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(C if self.bug == "scale by the width" else k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.c_fc = nn.Linear(DIM, 4 * DIM)
        self.gelu = nn.GELU() if bug == "exact GELU" else nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * DIM, DIM)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        eps = 1e-6 if bug == "epsilon" else 1e-5
        self.ln_1 = nn.LayerNorm(DIM, eps=eps)
        self.attn = CausalSelfAttention(bug)
        self.ln_2 = nn.LayerNorm(DIM, eps=eps)
        self.mlp = MLP(bug)

    def forward(self, x):
        if self.bug == "norms after, not before":
            x = self.ln_1(x + self.attn(x))
            return self.ln_2(x + self.mlp(x))
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(WORDS, DIM),
                "wpe": nn.Embedding(LONGEST, DIM),
                "drop": nn.Dropout(0.1),
                "h": nn.ModuleList([Block(bug) for _ in range(LAYERS)]),
                "ln_f": nn.LayerNorm(DIM),
            }
        )
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx):
        first = 1 if self.bug == "positions from one" else 0
        pos = torch.arange(first, first + idx.size(1))
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        if self.bug != "no last norm":
            x = self.transformer.ln_f(x)
        return self.lm_head(x)


candidate = GPT

BUGS = {
    "exact GELU": ("transformer.h.0.mlp.act",),
    "scale by the width": ("transformer.h.0.attn",),
    "mask off by one": ("transformer.h.0.attn",),
    "queries and keys swapped": ("transformer.h.0.attn",),
    "epsilon": ("transformer.h.0.ln_1",),
    "norms after, not before": ("transformer.h.0",),
    "positions from one": ("transformer", "GPT2LMHeadModel"),
    "no last norm": ("transformer", "transformer.ln_f", "GPT2LMHeadModel"),
}

BLOCK = "transformer.h.*"
NAMES = {
    "transformer.wte": "transformer.wte",
    "transformer.wpe": "transformer.wpe",
    BLOCK: BLOCK,
    **{f"{BLOCK}.{name}": f"{BLOCK}.{name}" for name in ("ln_1", "attn", "ln_2", "mlp", "mlp.c_fc", "mlp.c_proj")},
    **{f"{BLOCK}.{name}": f"{BLOCK}.{name}" for name in ("attn.c_attn", "attn.c_proj")},
    f"{BLOCK}.mlp.act": f"{BLOCK}.mlp.gelu",
    "transformer.ln_f": "transformer.ln_f",
    "lm_head": "lm_head",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    transposed = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return {name: value.T if name.endswith(transposed) else value for name, value in found.items()}

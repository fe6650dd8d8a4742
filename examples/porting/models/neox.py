"""GPT-NeoX in the style of litgpt: short names, RoPE on the first quarter of channels, tables handed down."""

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, HIDDEN, LAYERS, WORDS, LONGEST = 32, 4, 64, 2, 61, 16
HEAD, TURNED = DIM // HEADS, DIM // HEADS // 2


def reference():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS}
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": TURNED / HEAD}}
    rest = {"num_attention_heads": HEADS, "use_cache": False, "attn_implementation": "eager"}
    return draw_weights(GPTNeoXForCausalLM(GPTNeoXConfig(**sizes, **rope, **rest)))


def inputs():
    return torch.randint(0, WORDS, (2, 9))


def build_rope_cache(base):
    theta = 1.0 / (base ** (torch.arange(0, TURNED, 2).float() / TURNED))
    idx_theta = torch.outer(torch.arange(LONGEST), theta).repeat(1, 2)
    return torch.cos(idx_theta), torch.sin(idx_theta)


def apply_rope(x, cos, sin):
    half = x.size(-1) // 2
    rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return ((x * cos) + (rotated * sin)).to(dtype=x.dtype)


class CausalSelfAttention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def turn(self, x, cos, sin):
        if self.bug == "RoPE on the last channels":
            return torch.cat((x[..., :-TURNED], apply_rope(x[..., -TURNED:], cos, sin)), dim=-1)
        return torch.cat((apply_rope(x[..., :TURNED], cos, sin), x[..., TURNED:]), dim=-1)

    def forward(self, x, cos, sin):
        B, T, C = x.size()
        q, k, v = self.qkv(x).view(B, T, HEADS, 3, HEAD).permute(0, 2, 3, 1, 4).unbind(dim=2)
        q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
        scale = 1.0 / (TURNED**0.5) if self.bug == "scale by the channels turned" else 1.0 / (HEAD**0.5)
        y = F.scaled_dot_product_attention(q, k, v, scale=scale, is_causal=self.bug != "no mask")
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class GptNeoxMLP(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.approximate = "tanh" if bug == "GELU's approximation" else "none"
        self.fc = nn.Linear(DIM, HIDDEN)
        self.proj = nn.Linear(HIDDEN, DIM)

    def forward(self, x):
        return self.proj(F.gelu(self.fc(x), approximate=self.approximate))


class Block(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        eps = 1e-6 if bug == "epsilon" else 1e-5
        self.norm_1, self.attn = nn.LayerNorm(DIM, eps=eps), CausalSelfAttention(bug)
        self.norm_2, self.mlp = nn.LayerNorm(DIM, eps=eps), GptNeoxMLP(bug)

    def forward(self, x, cos, sin):
        x_normed = self.norm_1(x)
        attention_output = self.attn(x_normed, cos, sin)
        if self.bug == "one after the other":
            x = x + attention_output
            return x + self.mlp(self.norm_2(x))
        return x + attention_output + self.mlp(x_normed if self.bug == "one norm for both" else self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)
        h = nn.ModuleList([Block(bug) for _ in range(LAYERS)])
        self.transformer = nn.ModuleDict({"wte": nn.Embedding(WORDS, DIM), "h": h, "ln_f": nn.LayerNorm(DIM)})
        cos, sin = build_rope_cache(1e5 if bug == "RoPE's base" else 1e4)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, idx):
        T = idx.shape[1]
        x = self.transformer.wte(idx)
        for block in self.transformer.h:
            x = block(x, self.cos[:T], self.sin[:T])
        return self.lm_head(self.transformer.ln_f(x))


candidate = GPT

LAYER = "gpt_neox.layers.*"
BUGS = {
    "one after the other": ("gpt_neox.layers.0",),
    "one norm for both": ("gpt_neox.layers.0", "gpt_neox.layers.0.post_attention_layernorm"),
    "RoPE on the last channels": ("gpt_neox.layers.0.attention",),
    "RoPE's base": ("gpt_neox.rotary_emb", "gpt_neox", "GPTNeoXForCausalLM"),
    "scale by the channels turned": ("gpt_neox.layers.0.attention",),
    "no mask": ("gpt_neox.layers.0.attention",),
    "GELU's approximation": ("gpt_neox.layers.0.mlp", "gpt_neox.layers.0.mlp.act"),
    "epsilon": ("gpt_neox.layers.0.input_layernorm",),
}

NAMES = {
    "gpt_neox.embed_in": "transformer.wte",
    LAYER: "transformer.h.*",
    f"{LAYER}.input_layernorm": "transformer.h.*.norm_1",
    f"{LAYER}.attention": "transformer.h.*.attn",
    f"{LAYER}.attention.query_key_value": "transformer.h.*.attn.qkv",
    f"{LAYER}.attention.dense": "transformer.h.*.attn.proj",
    f"{LAYER}.post_attention_layernorm": "transformer.h.*.norm_2",
    f"{LAYER}.mlp": "transformer.h.*.mlp",
    f"{LAYER}.mlp.dense_h_to_4h": "transformer.h.*.mlp.fc",
    f"{LAYER}.mlp.dense_4h_to_h": "transformer.h.*.mlp.proj",
    "gpt_neox.final_layer_norm": "transformer.ln_f",
    "lm_head": "lm_head",
}


def weights_by_hand(state):
    return moved(state, NAMES)

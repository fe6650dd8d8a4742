"""Qwen3 in the style of a book: long names, a mask and tables made by the model, norms of queries and keys."""

import torch
from common import draw_weights, moved
from torch import nn

DIM, HEADS, GROUPS, HEAD, HIDDEN, LAYERS, WORDS, LONGEST = 32, 4, 2, 12, 48, 2, 61, 16


def reference():
    from transformers import Qwen3Config, Qwen3ForCausalLM

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": HEAD, "use_cache": False}
    return draw_weights(Qwen3ForCausalLM(Qwen3Config(**sizes, **heads, attn_implementation="eager")))


def inputs():
    return torch.randint(0, WORDS, (2, 9))


class RMSNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        input_dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        return (x * torch.rsqrt(variance + self.eps) * self.scale).to(input_dtype)


def compute_rope_params():
    inv_freq = 1.0 / (10_000.0 ** (torch.arange(0, HEAD, 2).float() / HEAD))
    angles = torch.arange(LONGEST).unsqueeze(1) * inv_freq.unsqueeze(0)
    angles = torch.cat([angles, angles], dim=1)
    return torch.cos(angles), torch.sin(angles)


def apply_rope(x, cos, sin, first=0):
    seq_len = x.shape[2]
    x1, x2 = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    cos = cos[first : first + seq_len, :].unsqueeze(0).unsqueeze(0)
    sin = sin[first : first + seq_len, :].unsqueeze(0).unsqueeze(0)
    rotated = torch.cat((-x2, x1), dim=-1)
    return ((x * cos) + (rotated * sin)).to(dtype=x.dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.W_query = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.W_key = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.W_value = nn.Linear(DIM, GROUPS * HEAD, bias=False)
        self.out_proj = nn.Linear(HEADS * HEAD, DIM, bias=False)
        eps = 1e-5 if bug == "epsilon of queries and keys" else 1e-6
        self.q_norm, self.k_norm = RMSNorm(HEAD, eps), RMSNorm(HEAD, eps)

    def forward(self, x, mask, cos, sin):
        b, num_tokens, _ = x.shape
        queries = self.W_query(x).view(b, num_tokens, HEADS, HEAD).transpose(1, 2)
        keys = self.W_key(x).view(b, num_tokens, GROUPS, HEAD).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, GROUPS, HEAD).transpose(1, 2)
        late = self.bug == "norms after RoPE"
        if not late:
            queries = queries if self.bug == "queries not normed" else self.q_norm(queries)
            keys = self.k_norm(keys)
        queries = apply_rope(queries, cos, sin)
        keys = apply_rope(keys, cos, sin, first=1 if self.bug == "keys one place ahead" else 0)
        if late:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        keys = keys.repeat_interleave(HEADS // GROUPS, dim=1)
        values = values.repeat_interleave(HEADS // GROUPS, dim=1)
        attn_scores = (queries @ keys.transpose(2, 3)).masked_fill(mask, -torch.inf)
        divisor = (DIM // HEADS if self.bug == "scale of another width" else HEAD) ** 0.5
        attn_weights = torch.softmax(attn_scores / divisor, dim=-1)
        context = (attn_weights @ values).transpose(1, 2).reshape(b, num_tokens, HEADS * HEAD)
        return self.out_proj(context)


class FeedForward(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.fc1 = nn.Linear(DIM, HIDDEN, bias=False)
        self.fc2 = nn.Linear(DIM, HIDDEN, bias=False)
        self.fc3 = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x):
        act = nn.functional.gelu if self.bug == "GELU, not SiLU" else nn.functional.silu
        return self.fc3(act(self.fc1(x)) * self.fc2(x))


class TransformerBlock(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.att = GroupedQueryAttention(bug)
        self.ff = FeedForward(bug)
        self.norm1 = RMSNorm(DIM)
        self.norm2 = RMSNorm(DIM)

    def forward(self, x, mask, cos, sin):
        shortcut = x
        x = self.att(self.norm1(x), mask, cos, sin)
        x = x + shortcut
        shortcut = x
        x = self.ff(x if self.bug == "second norm forgotten" else self.norm2(x))
        return x + shortcut


class Qwen3Model(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.tok_emb = nn.Embedding(WORDS, DIM)
        self.trf_blocks = nn.ModuleList([TransformerBlock(bug) for _ in range(LAYERS)])
        self.final_norm = RMSNorm(DIM)
        self.out_head = nn.Linear(DIM, WORDS, bias=False)
        cos, sin = compute_rope_params()
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, in_idx):
        x = self.tok_emb(in_idx)
        n = x.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=2 if self.bug == "mask off by one" else 1)
        for block in self.trf_blocks:
            x = block(x, mask, self.cos, self.sin)
        return self.out_head(self.final_norm(x))


candidate = Qwen3Model

LAYER = "model.layers.*"
BUGS = {
    "queries not normed": ("model.layers.0.self_attn", "model.layers.0.self_attn.q_norm"),
    "norms after RoPE": ("model.layers.0.self_attn",),
    "keys one place ahead": ("model.layers.0.self_attn",),
    "scale of another width": ("model.layers.0.self_attn",),
    "epsilon of queries and keys": ("model.layers.0.self_attn.q_norm", "model.layers.0.self_attn.k_norm"),
    "mask off by one": ("model", "Qwen3ForCausalLM"),
    "GELU, not SiLU": ("model.layers.0.mlp", "model.layers.0.mlp.act_fn"),
    "second norm forgotten": ("model.layers.0", "model.layers.0.post_attention_layernorm"),
}

BLOCK = "trf_blocks.*"
NAMES = {
    "model.embed_tokens": "tok_emb",
    LAYER: BLOCK,
    f"{LAYER}.input_layernorm": f"{BLOCK}.norm1",
    f"{LAYER}.self_attn": f"{BLOCK}.att",
    f"{LAYER}.self_attn.q_proj": f"{BLOCK}.att.W_query",
    f"{LAYER}.self_attn.k_proj": f"{BLOCK}.att.W_key",
    f"{LAYER}.self_attn.v_proj": f"{BLOCK}.att.W_value",
    f"{LAYER}.self_attn.o_proj": f"{BLOCK}.att.out_proj",
    f"{LAYER}.self_attn.q_norm": f"{BLOCK}.att.q_norm",
    f"{LAYER}.self_attn.k_norm": f"{BLOCK}.att.k_norm",
    f"{LAYER}.post_attention_layernorm": f"{BLOCK}.norm2",
    f"{LAYER}.mlp": f"{BLOCK}.ff",
    f"{LAYER}.mlp.gate_proj": f"{BLOCK}.ff.fc1",
    f"{LAYER}.mlp.up_proj": f"{BLOCK}.ff.fc2",
    f"{LAYER}.mlp.down_proj": f"{BLOCK}.ff.fc3",
    "model.norm": "final_norm",
    "lm_head": "out_head",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    return {
        name.replace("norm.weight", "norm.scale")
        .replace("norm1.weight", "norm1.scale")
        .replace("norm2.weight", "norm2.scale"): value
        for name, value in found.items()
    }

"""Mixtral in the style of Mistral: experts one by one, a gate that is a Linear, tables made by each attention."""

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, KV_HEADS, HIDDEN, EXPERTS, CHOSEN, LAYERS, WORDS = 32, 4, 2, 40, 4, 2, 2, 61
HEAD = DIM // HEADS


def reference():
    from transformers import MixtralConfig, MixtralForCausalLM

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": WORDS}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "use_cache": False}
    experts = {"num_local_experts": EXPERTS, "num_experts_per_tok": CHOSEN, "experts_implementation": "eager"}
    return draw_weights(MixtralForCausalLM(MixtralConfig(**sizes, **heads, **experts, attn_implementation="eager")))


def inputs():
    return torch.randint(0, WORDS, (2, 9))


def apply_rotary_emb(x, theta):
    angles = torch.outer(torch.arange(x.shape[1]).double(), theta ** -(torch.arange(0, HEAD, 2).double() / HEAD))
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    one, two = x.chunk(2, dim=-1)
    return torch.cat((one * cos - two * sin, two * cos + one * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.wq = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, DIM, bias=False)

    def forward(self, x):
        xq, xk, xv = self.wq(x).unflatten(-1, (-1, HEAD)), self.wk(x).unflatten(-1, (-1, HEAD)), self.wv(x)
        xv = xv.unflatten(-1, (-1, HEAD))
        theta = 1e4 if self.bug == "RoPE's base" else 1e6
        xq, xk = apply_rotary_emb(xq, theta), apply_rotary_emb(xk, theta)
        if self.bug == "heads repeated in another order":
            xk, xv = (item.repeat(1, 1, HEADS // KV_HEADS, 1) for item in (xk, xv))
        else:
            xk, xv = (item.repeat_interleave(HEADS // KV_HEADS, dim=2) for item in (xk, xv))
        xq, xk, xv = (item.transpose(1, 2) for item in (xq, xk, xv))
        output = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
        return self.wo(output.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.w1 = nn.Linear(DIM, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, DIM, bias=False)
        self.w3 = nn.Linear(DIM, HIDDEN, bias=False)

    def forward(self, x):
        act = F.gelu if self.bug == "GELU, not SiLU" else F.silu
        return self.w2(act(self.w1(x)) * self.w3(x))


class MoeLayer(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.experts = nn.ModuleList([FeedForward(bug) for _ in range(EXPERTS)])
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)

    def forward(self, inputs):
        gate_logits = self.gate(inputs)
        weights, selected_experts = torch.topk(gate_logits, 1 if self.bug == "one expert for each token" else CHOSEN)
        if self.bug == "weights of experts not normed":
            weights = gate_logits.softmax(dim=-1).gather(-1, selected_experts)
        else:
            weights = F.softmax(weights, dim=-1, dtype=torch.float).to(inputs.dtype)
        results = torch.zeros_like(inputs)
        for i, expert in enumerate(self.experts):
            wanted = (i + 1) % EXPERTS if self.bug == "the next expert" else i
            batch, place, nth_expert = torch.where(selected_experts == wanted)
            results[batch, place] += weights[batch, place, nth_expert, None] * expert(inputs[batch, place])
        return results


class RMSNorm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        output = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return output.type_as(x) * self.weight


class TransformerBlock(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.attention = Attention(bug)
        eps = 1e-6 if bug == "epsilon" else 1e-5
        self.attention_norm, self.ffn_norm = RMSNorm(eps), RMSNorm(eps)
        self.feed_forward = MoeLayer(bug)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        r = self.feed_forward(self.ffn_norm(h))
        return (x if self.bug == "residual of the wrong place" else h) + r


class Transformer(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, DIM)
        self.norm = RMSNorm(1e-5)
        self.output = nn.Linear(DIM, WORDS, bias=False)
        self.layers = nn.ModuleDict({str(i): TransformerBlock(bug) for i in range(LAYERS)})

    def forward(self, input_ids):
        h = self.tok_embeddings(input_ids)
        for layer in self.layers.values():
            h = layer(h)
        return self.output(self.norm(h)).float() if h.dtype == torch.float32 else self.output(self.norm(h))


candidate = Transformer

LAYER = "model.layers.*"
BUGS = {
    "RoPE's base": ("model.layers.0.self_attn", "model.rotary_emb"),
    "heads repeated in another order": ("model.layers.0.self_attn",),
    "one expert for each token": ("model.layers.0.mlp", "model.layers.0.mlp.gate"),
    "weights of experts not normed": ("model.layers.0.mlp", "model.layers.0.mlp.gate"),
    "the next expert": ("model.layers.0.mlp", "model.layers.0.mlp.experts"),
    "GELU, not SiLU": ("model.layers.0.mlp.experts", "model.layers.0.mlp.experts.act_fn"),
    "epsilon": ("model.layers.0.input_layernorm",),
    "residual of the wrong place": ("model.layers.0",),
}

NAMES = {
    "model.embed_tokens": "tok_embeddings",
    LAYER: "layers.*",
    f"{LAYER}.input_layernorm": "layers.*.attention_norm",
    f"{LAYER}.self_attn": "layers.*.attention",
    **{f"{LAYER}.self_attn.{part}_proj": f"layers.*.attention.w{part}" for part in "qkvo"},
    f"{LAYER}.post_attention_layernorm": "layers.*.ffn_norm",
    f"{LAYER}.mlp": "layers.*.feed_forward",
    "model.norm": "norm",
    "lm_head": "output",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    for number in range(LAYERS):
        mine, theirs = f"model.layers.{number}.mlp", f"layers.{number}.feed_forward"
        found[f"{theirs}.gate.weight"] = state[f"{mine}.gate.weight"]
        for expert in range(EXPERTS):
            one, three = state[f"{mine}.experts.gate_up_proj"][expert].chunk(2)
            found[f"{theirs}.experts.{expert}.w1.weight"] = one
            found[f"{theirs}.experts.{expert}.w3.weight"] = three
            found[f"{theirs}.experts.{expert}.w2.weight"] = state[f"{mine}.experts.down_proj"][expert]
    return found

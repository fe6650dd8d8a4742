"""Whisper in the style of openai: one residual block for both sides, positions in a buffer or a bare parameter."""

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, HEADS, HIDDEN, LAYERS, WORDS, MELS, FRAMES, LONGEST = 24, 3, 40, 2, 53, 8, 16, 12


def reference():
    from transformers import WhisperConfig, WhisperModel

    layers = {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_ffn_dim": HIDDEN, "decoder_ffn_dim": HIDDEN}
    heads = {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "d_model": DIM}
    longest = {"max_source_positions": FRAMES // 2, "max_target_positions": LONGEST, "num_mel_bins": MELS}
    words = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "vocab_size": WORDS}
    config = WhisperConfig(**layers, **heads, **longest, **words, use_cache=False, attn_implementation="eager")
    return draw_weights(WhisperModel(config))


def inputs():
    return {"input_features": torch.randn(2, MELS, FRAMES), "decoder_input_ids": torch.randint(3, WORDS, (2, 6))}


class MultiHeadAttention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.query = nn.Linear(DIM, DIM)
        self.key = nn.Linear(DIM, DIM, bias=False)
        self.value = nn.Linear(DIM, DIM)
        self.out = nn.Linear(DIM, DIM)

    def forward(self, x, xa=None, mask=None):
        q = self.query(x)
        k = self.key(x if xa is None else xa)
        v = self.value(x if xa is None else xa)
        return self.out(self.qkv_attention(q, k, v, mask))

    def qkv_attention(self, q, k, v, mask):
        n_ctx = q.shape[1]
        scale = (DIM // HEADS) ** -0.25
        q = q.view(*q.shape[:2], HEADS, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], HEADS, -1).permute(0, 2, 3, 1) * (1.0 if self.bug == "keys not scaled" else scale)
        v = v.view(*v.shape[:2], HEADS, -1).permute(0, 2, 1, 3)
        qk = q @ k
        if mask is not None and self.bug != "mask ignored":
            qk = qk + mask[:n_ctx, :n_ctx]
        return (F.softmax(qk, dim=-1) @ v).permute(0, 2, 1, 3).flatten(start_dim=2)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, bug, cross_attention=False):
        super().__init__()
        self.bug = bug
        self.attn = MultiHeadAttention(bug)
        self.attn_ln = nn.LayerNorm(DIM)
        self.cross_attn = MultiHeadAttention(bug) if cross_attention else None
        eps = 1e-3 if bug == "epsilon of the norm before cross-attention" else 1e-5
        self.cross_attn_ln = nn.LayerNorm(DIM, eps=eps) if cross_attention else None
        act = nn.GELU(approximate="tanh") if bug == "GELU's approximation" else nn.GELU()
        self.mlp = nn.Sequential(nn.Linear(DIM, HIDDEN), act, nn.Linear(HIDDEN, DIM))
        self.mlp_ln = nn.LayerNorm(DIM)

    def forward(self, x, xa=None, mask=None):
        x = x + self.attn(self.attn_ln(x), mask=mask)
        if self.cross_attn is not None:
            normed = self.cross_attn_ln(x)
            x = x + self.cross_attn(normed, normed if self.bug == "cross-attention looks at itself" else xa)
        return x + self.mlp(self.mlp_ln(x))


class AudioEncoder(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.conv1 = nn.Conv1d(MELS, DIM, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(DIM, DIM, kernel_size=3, stride=2, padding=1)
        self.register_buffer("positional_embedding", torch.zeros(FRAMES // 2, DIM))
        self.blocks = nn.ModuleList([ResidualAttentionBlock(bug) for _ in range(LAYERS)])
        self.ln_post = nn.LayerNorm(DIM)

    def forward(self, x):
        x = F.gelu(self.conv1(x))
        x = self.conv2(x)
        x = x if self.bug == "no GELU after the second convolution" else F.gelu(x)
        x = x.permute(0, 2, 1) + self.positional_embedding
        for block in self.blocks:
            x = block(x)
        return x if self.bug == "encoder without its last norm" else self.ln_post(x)


class TextDecoder(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.token_embedding = nn.Embedding(WORDS, DIM)
        self.positional_embedding = nn.Parameter(torch.zeros(LONGEST, DIM))
        self.blocks = nn.ModuleList([ResidualAttentionBlock(bug, cross_attention=True) for _ in range(LAYERS)])
        self.ln = nn.LayerNorm(DIM)
        self.register_buffer("mask", torch.full((LONGEST, LONGEST), -torch.inf).triu_(1), persistent=False)

    def forward(self, x, xa):
        first = 1 if self.bug == "positions of the decoder from one" else 0
        x = self.token_embedding(x) + self.positional_embedding[first : first + x.shape[-1]]
        for block in self.blocks:
            x = block(x, xa, mask=self.mask)
        return self.ln(x)


class Whisper(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.encoder, self.decoder = AudioEncoder(bug), TextDecoder(bug)

    def forward(self, input_features, decoder_input_ids):
        return self.decoder(decoder_input_ids, self.encoder(input_features))


candidate = Whisper


ENCODER, DECODER = "encoder.layers.*", "decoder.layers.*"
BUGS = {
    "keys not scaled": ("encoder.layers.0.self_attn",),
    "GELU's approximation": ("encoder.layers.0.activation_fn",),
    "no GELU after the second convolution": ("encoder",),
    "encoder without its last norm": ("encoder", "encoder.layer_norm"),
    "mask ignored": ("decoder.layers.0.self_attn",),
    "cross-attention looks at itself": ("decoder.layers.0",),
    "epsilon of the norm before cross-attention": ("decoder.layers.0.encoder_attn_layer_norm",),
    "positions of the decoder from one": ("decoder", "decoder.embed_positions"),
}

PARTS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
SHARED = {
    "": "",
    ".self_attn": ".attn",
    **{f".self_attn.{mine}": f".attn.{theirs}" for mine, theirs in PARTS.items()},
    ".self_attn_layer_norm": ".attn_ln",
    ".fc1": ".mlp.0",
    ".activation_fn": ".mlp.1",
    ".fc2": ".mlp.2",
    ".final_layer_norm": ".mlp_ln",
}
NAMES = {
    **{name: name for name in ("encoder", "decoder", "encoder.conv1", "encoder.conv2")},
    **{f"{ENCODER}{mine}": f"encoder.blocks.*{theirs}" for mine, theirs in SHARED.items()},
    **{f"{DECODER}{mine}": f"decoder.blocks.*{theirs}" for mine, theirs in SHARED.items()},
    "encoder.layer_norm": "encoder.ln_post",
    "decoder.embed_tokens": "decoder.token_embedding",
    f"{DECODER}.encoder_attn": "decoder.blocks.*.cross_attn",
    **{f"{DECODER}.encoder_attn.{mine}": f"decoder.blocks.*.cross_attn.{theirs}" for mine, theirs in PARTS.items()},
    f"{DECODER}.encoder_attn_layer_norm": "decoder.blocks.*.cross_attn_ln",
    "decoder.layer_norm": "decoder.ln",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    for side in ("encoder", "decoder"):
        found[f"{side}.positional_embedding"] = state[f"{side}.embed_positions.weight"]
    return found

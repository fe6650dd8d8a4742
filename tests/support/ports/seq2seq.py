"""An encoder and a decoder that looks at it. The port fuses keys and values, and calls its layers otherwise."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, LAYERS, WORDS, MELS = 24, 3, 2, 47, 10
HEAD = DIM // HEADS


class WhisperAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k_proj, self.v_proj = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM)
        self.q_proj, self.out_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, hidden_states: Any, key_value_states: Any = None, attention_mask: Any = None) -> Any:
        source = hidden_states if key_value_states is None else key_value_states
        b, length, _ = hidden_states.shape
        q = (self.q_proj(hidden_states) * HEAD**-0.5).view(b, length, HEADS, HEAD).transpose(1, 2)
        k, v = (f(source).view(b, -1, HEADS, HEAD).transpose(1, 2) for f in (self.k_proj, self.v_proj))
        scores = q @ k.transpose(2, 3)
        scores = scores if attention_mask is None else scores + attention_mask
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, length, DIM))


class WhisperEncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = WhisperAttention(), nn.LayerNorm(DIM)
        self.fc1, self.fc2, self.final_layer_norm = nn.Linear(DIM, 48), nn.Linear(48, DIM), nn.LayerNorm(DIM)
        self.activation_fn = nn.GELU()

    def forward(self, hidden_states: Any) -> Any:
        hidden_states = hidden_states + self.self_attn(self.self_attn_layer_norm(hidden_states))
        return hidden_states + self.fc2(self.activation_fn(self.fc1(self.final_layer_norm(hidden_states))))


class WhisperDecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = WhisperAttention(), nn.LayerNorm(DIM)
        self.encoder_attn, self.encoder_attn_layer_norm = WhisperAttention(), nn.LayerNorm(DIM)
        self.fc1, self.fc2, self.final_layer_norm = nn.Linear(DIM, 48), nn.Linear(48, DIM), nn.LayerNorm(DIM)
        self.activation_fn = nn.GELU()

    def forward(self, hidden_states: Any, attention_mask: Any, encoder_hidden_states: Any) -> Any:
        x = self.self_attn_layer_norm(hidden_states)
        hidden_states = hidden_states + self.self_attn(x, attention_mask=attention_mask)
        x = self.encoder_attn_layer_norm(hidden_states)
        hidden_states = hidden_states + self.encoder_attn(x, key_value_states=encoder_hidden_states)
        return hidden_states + self.fc2(self.activation_fn(self.fc1(self.final_layer_norm(hidden_states))))


class WhisperEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(MELS, DIM, 3, padding=1)
        self.conv2 = nn.Conv1d(DIM, DIM, 3, stride=2, padding=1)
        self.embed_positions = nn.Embedding(64, DIM)
        self.layers = nn.ModuleList(WhisperEncoderLayer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(DIM)

    def forward(self, input_features: Any) -> Any:
        x = F.gelu(self.conv2(F.gelu(self.conv1(input_features)))).permute(0, 2, 1)
        x = x + self.embed_positions(torch.arange(x.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.layer_norm(x)


class WhisperDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens, self.embed_positions = nn.Embedding(WORDS, DIM), nn.Embedding(32, DIM)
        self.layers = nn.ModuleList(WhisperDecoderLayer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(DIM)

    def forward(self, input_ids: Any, encoder_hidden_states: Any) -> Any:
        length = input_ids.shape[1]
        x = self.embed_tokens(input_ids) + self.embed_positions(torch.arange(length))
        mask = torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)[None, None]
        for layer in self.layers:
            x = layer(x, mask, encoder_hidden_states)
        return self.layer_norm(x)


class WhisperModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = WhisperEncoder(), WhisperDecoder()

    def forward(self, input_features: Any, decoder_input_ids: Any) -> Any:
        return self.decoder(decoder_input_ids, self.encoder(input_features))


# --- the port -------------------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.query, self.key = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM, bias=False)
        self.value, self.out = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any, xa: Any = None, mask: Any = None) -> Any:
        q = self.query(x)
        other = x if xa is None or self.mistake == "cross" else xa
        k, v = self.key(other), self.value(other)
        return self.out(self.qkv_attention(q, k, v, mask))

    def qkv_attention(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        n_ctx = q.shape[1]
        scale = HEAD**-0.5 if self.mistake == "scale" else HEAD**-0.25
        q = q.view(*q.shape[:2], HEADS, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], HEADS, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], HEADS, -1).permute(0, 2, 1, 3)
        qk = q @ k
        if mask is not None and self.mistake != "mask":
            qk = qk + mask[:n_ctx, :n_ctx]
        return (F.softmax(qk, dim=-1) @ v).permute(0, 2, 1, 3).flatten(start_dim=2)


class ResidualBlock(nn.Module):
    def __init__(self, cross: bool, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.attn = MultiHeadAttention(mistake if mistake in ("scale", "mask") else "")
        self.attn_ln = nn.LayerNorm(DIM)
        self.cross_attn = MultiHeadAttention(mistake if mistake == "cross" else "") if cross else None
        self.cross_attn_ln = nn.LayerNorm(DIM, eps=1e-3 if mistake == "eps" else 1e-5) if cross else None
        activation = nn.GELU("tanh" if mistake == "gelu" else "none")
        self.mlp = nn.Sequential(nn.Linear(DIM, 48), activation, nn.Linear(48, DIM))
        self.mlp_ln = nn.LayerNorm(DIM)

    def forward(self, x: Any, xa: Any = None, mask: Any = None) -> Any:
        x = x + self.attn(self.attn_ln(x), mask=mask)
        if self.cross_attn is not None and self.cross_attn_ln is not None:
            x = x + self.cross_attn(self.cross_attn_ln(x), xa)
        return x + self.mlp(x if self.mistake == "norm of mlp" else self.mlp_ln(x))


def sinusoids(length: int, channels: int) -> Any:
    increment = math.log(10_000) / (channels // 2 - 1)
    times = torch.exp(-increment * torch.arange(channels // 2))
    scaled = torch.arange(length)[:, None] * times[None, :]
    return torch.cat([torch.sin(scaled), torch.cos(scaled)], dim=1)


class AudioEncoder(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.conv1 = nn.Conv1d(MELS, DIM, 3, padding=1)
        self.conv2 = nn.Conv1d(DIM, DIM, 3, stride=2, padding=1)
        self.positional_embedding = nn.Parameter(sinusoids(64, DIM))
        inner = {"scale of the encoder": "scale", "gelu of the encoder": "gelu"}.get(mistake, "")
        self.blocks = nn.ModuleList(ResidualBlock(False, inner if number else "") for number in range(LAYERS))
        self.ln_post = nn.LayerNorm(DIM)

    def forward(self, x: Any) -> Any:
        x = F.gelu(self.conv1(x))
        x = self.conv2(x) if self.mistake == "stem" else F.gelu(self.conv2(x))
        x = x.permute(0, 2, 1)
        x = x + self.positional_embedding[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return x if self.mistake == "last norm of the encoder" else self.ln_post(x)


class TextDecoder(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(WORDS, DIM)
        self.positional_embedding = nn.Parameter(torch.zeros(32, DIM))
        self.blocks = nn.ModuleList(ResidualBlock(True, mistake if number else "") for number in range(LAYERS))
        self.ln = nn.LayerNorm(DIM)
        self.register_buffer("mask", torch.empty(32, 32).fill_(-torch.inf).triu_(1), persistent=False)

    def forward(self, x: Any, xa: Any) -> Any:
        x = self.token_embedding(x) + self.positional_embedding[: x.shape[-1]]
        for block in self.blocks:
            x = block(x, xa, mask=self.mask)
        return self.ln(x)


class Whisper(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.encoder, self.decoder = AudioEncoder(mistake), TextDecoder(mistake)

    def forward(self, mel: Any, tokens: Any) -> Any:
        return self.decoder(tokens, self.encoder(mel))

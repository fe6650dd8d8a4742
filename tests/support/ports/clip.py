"""Two towers, for images and texts. The reference is written out; the port uses torch's attention, keeps tokens first
in one tower, and its vision blocks in a dict."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, LAYERS, WORDS, LONGEST, PATCH, IMAGE, JOINT = 24, 3, 2, 41, 12, 4, 12, 10
HEAD = DIM // HEADS


class CLIPAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k_proj, self.v_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.q_proj, self.out_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, hidden_states: Any, attention_mask: Any = None) -> Any:
        b, length, _ = hidden_states.shape
        q, k, v = (
            project(hidden_states).view(b, length, HEADS, HEAD).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = q @ k.transpose(-1, -2) * HEAD**-0.5
        scores = scores if attention_mask is None else scores + attention_mask
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, length, DIM)), None


class QuickGELUActivation(nn.Module):
    def forward(self, input: Any) -> Any:
        return input * torch.sigmoid(1.702 * input)


class CLIPMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.activation_fn = QuickGELUActivation()
        self.fc1, self.fc2 = nn.Linear(DIM, 3 * DIM), nn.Linear(3 * DIM, DIM)

    def forward(self, hidden_states: Any) -> Any:
        return self.fc2(self.activation_fn(self.fc1(hidden_states)))


class CLIPEncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.layer_norm1 = CLIPAttention(), nn.LayerNorm(DIM)
        self.mlp, self.layer_norm2 = CLIPMLP(), nn.LayerNorm(DIM)

    def forward(self, hidden_states: Any, attention_mask: Any = None) -> Any:
        hidden_states = hidden_states + self.self_attn(self.layer_norm1(hidden_states), attention_mask)[0]
        return hidden_states + self.mlp(self.layer_norm2(hidden_states))


class CLIPEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(CLIPEncoderLayer() for _ in range(LAYERS))

    def forward(self, inputs_embeds: Any, attention_mask: Any = None) -> Any:
        for layer in self.layers:
            inputs_embeds = layer(inputs_embeds, attention_mask)
        return inputs_embeds


class CLIPVisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(DIM))
        self.patch_embedding = nn.Conv2d(3, DIM, PATCH, stride=PATCH, bias=False)
        self.position_embedding = nn.Embedding((IMAGE // PATCH) ** 2 + 1, DIM)
        self.pre_layrnorm, self.encoder, self.post_layernorm = nn.LayerNorm(DIM), CLIPEncoder(), nn.LayerNorm(DIM)

    def forward(self, pixel_values: Any) -> Any:
        patches = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_embedding.expand(len(patches), 1, -1), patches], dim=1)
        x = x + self.position_embedding(torch.arange(x.shape[1]))
        return self.post_layernorm(self.encoder(self.pre_layrnorm(x))[:, 0])


class CLIPTextTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token_embedding, self.position_embedding = nn.Embedding(WORDS, DIM), nn.Embedding(LONGEST, DIM)
        self.encoder, self.final_layer_norm = CLIPEncoder(), nn.LayerNorm(DIM)

    def forward(self, input_ids: Any) -> Any:
        length = input_ids.shape[1]
        x = self.token_embedding(input_ids) + self.position_embedding(torch.arange(length))
        mask = torch.full((length, length), float("-inf"), dtype=x.dtype).triu(1)
        x = self.final_layer_norm(self.encoder(x, mask))
        return x[torch.arange(len(x)), input_ids.argmax(-1)]


class CLIPModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.vision_model, self.text_model = CLIPVisionTransformer(), CLIPTextTransformer()
        self.visual_projection = nn.Linear(DIM, JOINT, bias=False)
        self.text_projection = nn.Linear(DIM, JOINT, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, input_ids: Any, pixel_values: Any) -> Any:
        images = self.visual_projection(self.vision_model(pixel_values))
        texts = self.text_projection(self.text_model(input_ids))
        images, texts = images / images.norm(dim=-1, keepdim=True), texts / texts.norm(dim=-1, keepdim=True)
        return {"logits_per_text": texts @ images.t() * self.logit_scale.exp(), "image_embeds": images}


# --- the port -------------------------------------------------------------------------------------------------------


class QuickGELU(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.attn = nn.MultiheadAttention(DIM, HEADS)
        self.ln_1 = nn.LayerNorm(DIM, eps=1e-3 if mistake == "eps" else 1e-5)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(DIM, 3 * DIM))
        self.mlp.add_module("gelu", nn.GELU() if mistake == "gelu" else QuickGELU())
        self.mlp.add_module("c_proj", nn.Linear(3 * DIM, DIM))
        self.ln_2 = nn.LayerNorm(DIM)

    def attention(self, x: Any, mask: Any) -> Any:
        if self.mistake == "mask":
            mask = None
        return self.attn(x, x, x, need_weights=False, attn_mask=mask)[0]

    def forward(self, x: Any, mask: Any = None) -> Any:
        x = x + self.attention(self.ln_1(x), mask)
        return x + self.mlp(self.ln_2(x))


class VisionTower(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.conv1 = nn.Conv2d(3, DIM, PATCH, stride=PATCH, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(DIM))
        self.positional_embedding = nn.Parameter(torch.randn((IMAGE // PATCH) ** 2 + 1, DIM))
        self.ln_pre, self.ln_post = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        inner = {"gelu of images": "gelu"}.get(mistake, "")
        self.blocks = nn.ModuleDict({str(n): ResidualAttentionBlock(inner if n else "") for n in range(LAYERS)})
        self.proj = nn.Linear(DIM, JOINT, bias=False)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        x = x.permute(0, 3, 2, 1).flatten(1, 2) if self.mistake == "patch order" else x.flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_embedding + torch.zeros(len(x), 1, DIM, dtype=x.dtype), x], dim=1)
        x = self.ln_pre(x + self.positional_embedding).permute(1, 0, 2)
        for block in self.blocks.values():
            x = block(x)
        return self.proj(self.ln_post(x.permute(1, 0, 2)[:, 0, :]))


class OpenCLIP(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.visual = VisionTower(mistake)
        self.token_embedding = nn.Embedding(WORDS, DIM)
        self.positional_embedding = nn.Parameter(torch.randn(LONGEST, DIM))
        inner = {"gelu of texts": "gelu", "eps of texts": "eps", "mask": "mask"}.get(mistake, "")
        self.resblocks = nn.ModuleList(ResidualAttentionBlock(inner if n else "") for n in range(LAYERS))
        self.ln_final = nn.LayerNorm(DIM)
        self.text_projection = nn.Linear(DIM, JOINT, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(0.0))

    def encode_text(self, text: Any) -> Any:
        length = text.shape[1]
        x = self.token_embedding(text) + self.positional_embedding[:length]
        mask = torch.full((length, length), float("-inf"), dtype=x.dtype).triu_(1)
        x = x.permute(1, 0, 2)
        for block in self.resblocks:
            x = block(x, mask)
        x = self.ln_final(x.permute(1, 0, 2))
        last = 0 if self.mistake == "end of text" else text.argmax(dim=-1)
        return self.text_projection(x[torch.arange(x.shape[0]), last])

    def forward(self, text: Any, image: Any) -> Any:
        image_features = F.normalize(self.visual(image), dim=-1)
        text_features = F.normalize(self.encode_text(text), dim=-1)
        scale = self.logit_scale if self.mistake == "temperature" else self.logit_scale.exp()
        return {"logits_per_text": text_features @ image_features.T * scale, "image_embeds": image_features}

"""CLIP in the style of openai: two towers, torch's MultiheadAttention, projections that are bare parameters."""

import math
from collections import OrderedDict

import torch
import torch.nn.functional as F
from common import draw_weights, moved, spell_out
from torch import nn

DIM, HEADS, HIDDEN, LAYERS, WORDS, LONGEST, IMAGE, PATCH, SHARED = 32, 4, 64, 2, 53, 8, 16, 8, 20


def reference():
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    text = {"vocab_size": WORDS, "max_position_embeddings": LONGEST, "eos_token_id": WORDS - 1, "bos_token_id": 1}
    config = CLIPConfig(
        text_config={**sizes, **text, "pad_token_id": 0},
        vision_config={**sizes, "image_size": IMAGE, "patch_size": PATCH},
        projection_dim=SHARED,
        attn_implementation="eager",
    )
    return draw_weights(CLIPModel(config))


def inputs():
    ids = torch.randint(2, WORDS - 1, (3, LONGEST))
    for row, end in enumerate((4, 6, 5)):
        ids[row, end:] = 0
        ids[row, end] = WORDS - 1
    return ids, torch.randn(3, 3, IMAGE, IMAGE)


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, attn_mask, bug):
        super().__init__()
        self.bug = bug
        self.attn = nn.MultiheadAttention(DIM, HEADS)
        self.ln_1 = nn.LayerNorm(DIM, eps=1e-6 if bug == "epsilon" else 1e-5)
        act = nn.GELU() if bug == "GELU, not its quick form" else QuickGELU()
        layers = [("c_fc", nn.Linear(DIM, HIDDEN)), ("gelu", act), ("c_proj", nn.Linear(HIDDEN, DIM))]
        self.mlp = nn.Sequential(OrderedDict(layers))
        self.ln_2 = nn.LayerNorm(DIM)
        self.attn_mask = attn_mask

    def attention(self, x):
        mask = self.attn_mask.to(x.dtype) if self.attn_mask is not None and self.bug != "no mask" else None
        return self.attn(x, x, x, need_weights=False, attn_mask=mask)[0]

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self, attn_mask, bug):
        super().__init__()
        self.resblocks = nn.Sequential(*[ResidualAttentionBlock(attn_mask, bug) for _ in range(LAYERS)])

    def forward(self, x):
        return self.resblocks(x)


class VisionTransformer(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.conv1 = nn.Conv2d(3, DIM, kernel_size=PATCH, stride=PATCH, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(DIM))
        self.positional_embedding = nn.Parameter(torch.randn((IMAGE // PATCH) ** 2 + 1, DIM))
        self.ln_pre = nn.LayerNorm(DIM)
        self.transformer = Transformer(None, bug)
        self.ln_post = nn.LayerNorm(DIM)
        self.proj = nn.Parameter(torch.randn(DIM, SHARED))

    def forward(self, x):
        x = self.conv1(x).flatten(2).permute(0, 2, 1)
        first = self.class_embedding.expand(x.shape[0], 1, -1)
        last = self.bug == "class token at the end"
        x = torch.cat([x, first] if last else [first, x], dim=1) + self.positional_embedding
        x = x if self.bug == "norm before the blocks forgotten" else self.ln_pre(x)
        x = self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2)
        return self.ln_post(x[:, -1 if last else 0, :]) @ self.proj


class CLIP(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.visual = VisionTransformer(bug)
        mask = torch.full((LONGEST, LONGEST), float("-inf")).triu_(1)
        self.transformer = Transformer(mask, bug)
        self.token_embedding = nn.Embedding(WORDS, DIM)
        self.positional_embedding = nn.Parameter(torch.randn(LONGEST, DIM))
        self.ln_final = nn.LayerNorm(DIM)
        self.text_projection = nn.Parameter(torch.randn(DIM, SHARED))
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def encode_text(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2)
        x = self.ln_final(x)
        end = -1 if self.bug == "the last token stands for the text" else text.argmax(dim=-1)
        return x[torch.arange(x.shape[0]), end] @ self.text_projection

    def forward(self, text, image):
        image_features, text_features = self.visual(image), self.encode_text(text)
        if self.bug != "features not normed":
            image_features, text_features = F.normalize(image_features, dim=1), F.normalize(text_features, dim=1)
        logit_scale = self.logit_scale if self.bug == "temperature without its exponential" else self.logit_scale.exp()
        logits_per_image = logit_scale * image_features @ text_features.t()
        return {"logits_per_image": logits_per_image, "logits_per_text": logits_per_image.t()}


candidate = CLIP
OUTPUTS = {"logits_per_image": "logits_per_image", "logits_per_text": "logits_per_text"}

VISION, TEXT = "vision_model.encoder.layers.*", "text_model.encoder.layers.*"
BUGS = {
    "GELU, not its quick form": (
        "vision_model.encoder.layers.0.mlp.activation_fn",
        "text_model.encoder.layers.0.mlp.activation_fn",
    ),
    "epsilon": ("vision_model.encoder.layers.0.layer_norm1", "text_model.encoder.layers.0.layer_norm1"),
    "no mask": ("text_model.encoder.layers.0",),
    "norm before the blocks forgotten": ("vision_model", "vision_model.pre_layrnorm"),
    "class token at the end": ("vision_model", "vision_model.embeddings"),
    "the last token stands for the text": ("text_model", "CLIPModel"),
    "features not normed": ("CLIPModel",),
    "temperature without its exponential": ("CLIPModel",),
}

PARTS = {"": "", ".layer_norm1": ".ln_1", ".layer_norm2": ".ln_2", ".mlp": ".mlp"}
PARTS |= {".self_attn.out_proj": ".attn.out_proj", ".mlp.fc1": ".mlp.c_fc", ".mlp.fc2": ".mlp.c_proj"}
NAMES = {
    "vision_model": "visual",
    "vision_model.embeddings.patch_embedding": "visual.conv1",
    "vision_model.pre_layrnorm": "visual.ln_pre",
    **{f"{VISION}{mine}": f"visual.transformer.resblocks.*{theirs}" for mine, theirs in PARTS.items()},
    f"{VISION}.mlp.activation_fn": "visual.transformer.resblocks.*.mlp.gelu",
    "vision_model.post_layernorm": "visual.ln_post",
    "text_model.embeddings.token_embedding": "token_embedding",
    **{f"{TEXT}{mine}": f"transformer.resblocks.*{theirs}" for mine, theirs in PARTS.items()},
    f"{TEXT}.mlp.activation_fn": "transformer.resblocks.*.mlp.gelu",
    "text_model.final_layer_norm": "ln_final",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    blocks = {f"{VISION}.self_attn": "visual.transformer.resblocks.*.attn"}
    blocks[f"{TEXT}.self_attn"] = "transformer.resblocks.*.attn"
    for mine, theirs in spell_out(blocks).items():
        for kind in ("weight", "bias"):
            found[f"{theirs}.in_proj_{kind}"] = torch.cat([state[f"{mine}.{part}_proj.{kind}"] for part in "qkv"])
    found["visual.class_embedding"] = state["vision_model.embeddings.class_embedding"]
    found["visual.positional_embedding"] = state["vision_model.embeddings.position_embedding.weight"]
    found["visual.proj"] = state["visual_projection.weight"].T
    found["positional_embedding"] = state["text_model.embeddings.position_embedding.weight"]
    found["text_projection"] = state["text_projection.weight"].T
    found["logit_scale"] = state["logit_scale"]
    return found

"""DINOv2 with registers in the style of facebookresearch: queries, keys and values fused, tokens by the model."""

import torch
from common import draw_weights, moved
from torch import nn

DIM, HEADS, LAYERS, IMAGE, PATCH, REGISTERS = 32, 4, 2, 16, 4, 3


def reference():
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    sizes = {"hidden_size": DIM, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "mlp_ratio": 2}
    image = {"image_size": IMAGE, "patch_size": PATCH, "num_register_tokens": REGISTERS}
    return draw_weights(
        Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**sizes, **image, attn_implementation="eager"))
    )


def inputs():
    return torch.randn(2, 3, IMAGE, IMAGE)


class PatchEmbed(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.proj = nn.Conv2d(3, DIM, kernel_size=PATCH, stride=PATCH)

    def forward(self, x):
        x = self.proj(x)
        x = x.transpose(2, 3) if self.bug == "patches column by column" else x
        return x.flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.scale = DIM**-0.5 if bug == "scale by the width" else (DIM // HEADS) ** -0.5
        self.across = bug == "softmax over queries"
        self.qkv = nn.Linear(DIM, DIM * 3)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-2 if self.across else -1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        return x * self.gamma


class Mlp(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.fc1 = nn.Linear(DIM, 2 * DIM)
        self.act = nn.GELU("tanh") if bug == "GELU's approximation" else nn.GELU()
        self.fc2 = nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        eps = 1e-5 if bug == "epsilon" else 1e-6
        self.norm1 = nn.LayerNorm(DIM, eps=eps)
        self.attn = Attention(bug)
        self.ls1 = LayerScale()
        self.norm2 = nn.LayerNorm(DIM, eps=eps)
        self.mlp = Mlp(bug)
        self.ls2 = LayerScale()

    def forward(self, x):
        def ffn_residual_func(x):
            x = self.mlp(self.norm2(x))
            return x if self.bug == "second layer scale forgotten" else self.ls2(x)

        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + ffn_residual_func(x)


class DinoVisionTransformer(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.patch_embed = PatchEmbed(bug)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.pos_embed = nn.Parameter(torch.zeros(1, (IMAGE // PATCH) ** 2 + 1, DIM))
        self.register_tokens = nn.Parameter(torch.zeros(1, REGISTERS, DIM))
        self.blocks = nn.ModuleList([Block(bug) for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM, eps=1e-6)
        self.mask_token = nn.Parameter(torch.zeros(1, DIM))

    def prepare_tokens(self, x):
        x = self.patch_embed(x)
        if self.bug == "class token without a position":
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x + self.pos_embed[:, 1:]), dim=1)
        else:
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        registers = self.register_tokens.expand(x.shape[0], -1, -1)
        if self.bug == "registers at the end":
            return torch.cat((x, registers), dim=1)
        return torch.cat((x[:, :1], registers, x[:, 1:]), dim=1)

    def forward(self, x):
        x = self.prepare_tokens(x)
        for blk in self.blocks:
            x = blk(x)
        x_norm = self.norm(x)
        return x_norm, x_norm[:, 0]


candidate = DinoVisionTransformer
OUTPUTS = {"last_hidden_state": "0", "pooler_output": "1"}

LAYER = "encoder.layer.*"
BUGS = {
    "patches column by column": ("embeddings.patch_embeddings",),
    "class token without a position": ("embeddings", "Dinov2WithRegistersModel"),
    "registers at the end": ("embeddings", "Dinov2WithRegistersModel"),
    "scale by the width": ("encoder.layer.0.attention",),
    "softmax over queries": ("encoder.layer.0.attention",),
    "GELU's approximation": ("encoder.layer.0.mlp.activation_fn",),
    "epsilon": ("encoder.layer.0.norm1",),
    "second layer scale forgotten": ("encoder.layer.0", "encoder.layer.0.layer_scale2"),
}

NAMES = {
    "embeddings.patch_embeddings": "patch_embed",
    "embeddings.patch_embeddings.projection": "patch_embed.proj",
    LAYER: "blocks.*",
    f"{LAYER}.norm1": "blocks.*.norm1",
    f"{LAYER}.attention": "blocks.*.attn",
    f"{LAYER}.attention.o_proj": "blocks.*.attn.proj",
    f"{LAYER}.layer_scale1": "blocks.*.ls1",
    f"{LAYER}.norm2": "blocks.*.norm2",
    f"{LAYER}.mlp": "blocks.*.mlp",
    f"{LAYER}.mlp.fc1": "blocks.*.mlp.fc1",
    f"{LAYER}.mlp.activation_fn": "blocks.*.mlp.act",
    f"{LAYER}.mlp.fc2": "blocks.*.mlp.fc2",
    f"{LAYER}.layer_scale2": "blocks.*.ls2",
    "layernorm": "norm",
}


def weights_by_hand(state):
    found = moved(state, NAMES)
    for number in range(LAYERS):
        for kind in ("weight", "bias"):
            parts = [state[f"encoder.layer.{number}.attention.{part}_proj.{kind}"] for part in "qkv"]
            found[f"blocks.{number}.attn.qkv.{kind}"] = torch.cat(parts)
        for scale in (1, 2):
            found[f"blocks.{number}.ls{scale}.gamma"] = state[f"encoder.layer.{number}.layer_scale{scale}.lambda1"]
    for name in ("cls_token", "mask_token", "register_tokens"):
        found[name] = state[f"embeddings.{name}"]
    found["pos_embed"] = state["embeddings.position_embeddings"]
    return found

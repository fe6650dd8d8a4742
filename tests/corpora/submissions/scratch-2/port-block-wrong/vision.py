"""Scratch-2, ported from my ViT: the encoder hands its blocks the scale of the scores."""

import torch
import torch.nn.functional as F
from decoder import CausalDecoder
from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    def __init__(self, image_size: int, patch_size: int, channels: int, width: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.num_patches = (image_size // patch_size) ** 2
        self.proj = nn.Linear(channels * patch_size**2, width)

    def forward(self, images: Tensor) -> Tensor:
        columns = F.unfold(images, self.patch_size, stride=self.patch_size)
        return self.proj(columns.mT)


class EncoderBlock(nn.Module):
    def __init__(self, width: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden_dim)
        self.down = nn.Linear(hidden_dim, width)

    def forward(self, x: Tensor, scale: float) -> Tensor:
        x = x + self.attend(self.norm_1(x), scale)
        return x + self.down(F.relu(self.up(self.norm_2(x))))

    def attend(self, x: Tensor, scale: float) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, scale=scale)
        return self.out(attended.transpose(1, 2).flatten(2))


class PatchEncoder(nn.Module):
    def __init__(self, image_size=24, patch_size=8, channels=3, width=384, num_layers=1, num_heads=6, hidden_dim=192):
        super().__init__()
        self.patches = PatchEmbedding(image_size, patch_size, channels, width)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, self.patches.num_patches + 1, width) * 0.02)
        self.blocks = nn.ModuleList(EncoderBlock(width, num_heads, hidden_dim) for _ in range(num_layers))
        self.norm = nn.LayerNorm(width)
        self.scale = (width // num_heads) ** -0.5
        self.freeze()

    def freeze(self) -> None:
        self.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images)
        x = torch.cat((self.class_token.expand(len(images), -1, -1), patches), dim=1) + self.positions
        for block in self.blocks:
            x = block(x, self.scale)
        return self.norm(x)


class Projector(nn.Module):
    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.fc_1 = nn.Linear(width, dim)
        self.fc_2 = nn.Linear(dim, dim)

    def forward(self, image_tokens: Tensor) -> Tensor:
        return self.fc_2(F.gelu(self.fc_1(image_tokens)))


def fuse(image_embeddings: Tensor, text_embeddings: Tensor) -> Tensor:
    return torch.cat((image_embeddings, text_embeddings), dim=1)


class VisionLanguageModel(nn.Module):
    def __init__(self, encoder, vocab_size, dim, num_layers, num_heads, max_seq_len) -> None:
        super().__init__()
        self.encoder = PatchEncoder(**encoder)
        self.projector = Projector(self.encoder.norm.normalized_shape[0], dim)
        self.decoder = CausalDecoder(vocab_size, dim, num_layers, num_heads, max_seq_len)

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        with torch.no_grad():
            image_tokens = self.encoder(images)
        joined = fuse(self.projector(image_tokens), self.decoder.embed(tokens))
        return self.decoder(joined)[:, -tokens.shape[1] :]


def caption_loss(model, images: Tensor, tokens: Tensor) -> Tensor:
    logits = model(images, tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

"""Scratch-2: seeing. Images become tokens, tokens are projected, and the decoder reads them before the text."""

import torch
import torch.nn.functional as F
from decoder import CausalDecoder
from torch import nn


class PatchEmbedding(nn.Module):
    """Cut an image into square patches, row by row, and map each to a vector.

    A patch is flattened as (channel, row, column).
    """

    def __init__(self, image_size, patch_size, channels, width):
        super().__init__()
        assert image_size % patch_size == 0
        self.patch_size = patch_size
        self.num_patches = (image_size // patch_size) ** 2
        self.proj = nn.Linear(channels * patch_size**2, width)

    def forward(self, images):
        """images: (batch, channels, height, width); returns (batch, num_patches, width)."""
        b, c, h, w = images.shape
        p = self.patch_size
        images = images.reshape(b, c, h // p, p, w // p, p)
        images = images.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        return self.proj(images)


class EncoderBlock(nn.Module):
    """Self-attention without a mask and a small network, each after a norm, each with a residual."""

    def __init__(self, width, num_heads, hidden_dim):
        super().__init__()
        self.num_heads = num_heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden_dim)
        self.down = nn.Linear(hidden_dim, width)

    def forward(self, x):
        x = x + self.attend(self.norm_1(x))
        hidden = F.gelu(self.up(self.norm_2(x)))
        return x + self.down(hidden)

    def attend(self, x):
        batch, length, width = x.shape
        heads = self.qkv(x).reshape(batch, length, 3, self.num_heads, width // self.num_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        return self.out(seen.transpose(1, 2).flatten(2))


class PatchEncoder(nn.Module):
    """A ViT-style encoder: patches and a class token, with positions, through blocks. Frozen."""

    def __init__(self, image_size=24, patch_size=8, channels=3, width=384, num_layers=1, num_heads=6, hidden_dim=192):
        super().__init__()
        self.patches = PatchEmbedding(image_size, patch_size, channels, width)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, self.patches.num_patches + 1, width) * 0.02)
        self.blocks = nn.ModuleList(EncoderBlock(width, num_heads, hidden_dim) for _ in range(num_layers))
        self.norm = nn.LayerNorm(width)
        self.freeze()

    def freeze(self):
        """No parameter of the encoder is ever trained."""
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, images):
        """Returns (batch, 1 + num_patches, width); the class token comes first."""
        x = torch.cat([self.class_token, self.patches(images)], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Projector(nn.Module):
    """From the encoder's width to the decoder's: linear, GELU, linear."""

    def __init__(self, width, dim):
        super().__init__()
        self.fc_1 = nn.Linear(width, dim)
        self.fc_2 = nn.Linear(dim, dim)

    def forward(self, image_tokens):
        return self.fc_2(F.gelu(self.fc_1(image_tokens)))


def fuse(image_embeddings, text_embeddings):
    """One sequence, images first: (batch, images + text, dim)."""
    return torch.cat((image_embeddings, text_embeddings), dim=1)


class VisionLanguageModel(nn.Module):
    """Reads an image, then text, and predicts the next token at every position of the text."""

    def __init__(self, encoder, vocab_size, dim, num_layers, num_heads, max_seq_len):
        super().__init__()
        self.encoder = PatchEncoder(**encoder)
        self.projector = Projector(self.encoder.norm.normalized_shape[0], dim)
        self.decoder = CausalDecoder(vocab_size, dim, num_layers, num_heads, max_seq_len)

    def forward(self, images, tokens):
        """Returns (batch, length of tokens, vocab_size)."""
        with torch.no_grad():
            seen = self.encoder(images)
        together = fuse(self.projector(seen), self.decoder.embed(tokens))
        return self.decoder(together)[:, -tokens.shape[1] :]


def caption_loss(model, images, tokens):
    """Mean cross-entropy of predicting each token of the text from the image and the text before it."""
    logits = model(images, tokens)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

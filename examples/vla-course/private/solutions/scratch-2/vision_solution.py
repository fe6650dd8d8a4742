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
        batch, channels, height, width = images.shape
        size = self.patch_size
        patches = images.view(batch, channels, height // size, size, width // size, size)
        patches = patches.permute(0, 2, 4, 1, 3, 5)
        return self.proj(patches.reshape(batch, self.num_patches, channels * size * size))


class EncoderBlock(nn.Module):
    """Self-attention without a mask and a small network, each after a norm, each with a residual.

    qkv gives all of q, then all of k, then all of v; in each, head follows head. GELU is the exact one.
    """

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
        return x + self.down(F.gelu(self.up(self.norm_2(x))))

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.num_heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


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
        """No parameter of the encoder is ever trained: none requires a gradient.

        Whether it also switches to evaluation mode is up to you: nothing in the encoder depends on that.
        """
        for parameter in self.parameters():
            parameter.requires_grad = False

    def forward(self, images):
        """Returns (batch, 1 + num_patches, width); the class token comes first."""
        patches = self.patches(images)
        first = self.class_token.expand(images.shape[0], -1, -1)
        x = torch.cat([first, patches], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Projector(nn.Module):
    """From the encoder's width to the decoder's: linear, GELU (the exact one), linear."""

    def __init__(self, width, dim):
        super().__init__()
        self.fc_1 = nn.Linear(width, dim)
        self.fc_2 = nn.Linear(dim, dim)

    def forward(self, image_tokens):
        return self.fc_2(F.gelu(self.fc_1(image_tokens)))


def fuse(image_embeddings, text_embeddings):
    """One sequence, images first: (batch, images + text, dim)."""
    return torch.cat([image_embeddings, text_embeddings], dim=1)


class VisionLanguageModel(nn.Module):
    """Reads an image, then text, and predicts the next token at every position of the text.

    Projector and decoder get gradients, the encoder's parameters none. Whether gradients would reach the images is up
    to you: nobody asks for them.
    """

    def __init__(self, encoder, vocab_size, dim, num_layers, num_heads, max_seq_len):
        super().__init__()
        self.encoder = PatchEncoder(**encoder)
        self.projector = Projector(self.encoder.norm.normalized_shape[0], dim)
        self.decoder = CausalDecoder(vocab_size, dim, num_layers, num_heads, max_seq_len)

    def forward(self, images, tokens):
        """Returns (batch, length of tokens, vocab_size)."""
        with torch.no_grad():
            image_tokens = self.encoder(images)
        image_embeddings = self.projector(image_tokens)
        logits = self.decoder(fuse(image_embeddings, self.decoder.embed(tokens)))
        return logits[:, image_embeddings.shape[1] :]


def caption_loss(model, images, tokens):
    """Mean cross-entropy of predicting each token of the text from the image and the text before it.

    The mean is over all predicted tokens of the batch. The model stays in the mode it came in.
    """
    logits = model(images, tokens)[:, :-1]
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))

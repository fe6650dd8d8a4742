"""Scratch-2: seeing. Images become tokens, tokens are projected, and the decoder reads them before the text."""

import torch
import torch.nn.functional as F  # noqa: F401
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
        # TODO: cut into patches row by row, flatten each as (channel, row, column), project.
        raise NotImplementedError


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
        # TODO: norm, attend, residual; norm, up, GELU, down, residual.
        raise NotImplementedError

    def attend(self, x):
        # TODO: multi-head self-attention; every position sees every other.
        raise NotImplementedError


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
        # TODO: make sure that no parameter of the encoder gets a gradient.
        raise NotImplementedError

    def forward(self, images):
        """Returns (batch, 1 + num_patches, width); the class token comes first."""
        # TODO: embed the patches, put the class token first, add positions, run the blocks, norm.
        raise NotImplementedError


class Projector(nn.Module):
    """From the encoder's width to the decoder's: linear, GELU (the exact one), linear."""

    def __init__(self, width, dim):
        super().__init__()
        self.fc_1 = nn.Linear(width, dim)
        self.fc_2 = nn.Linear(dim, dim)

    def forward(self, image_tokens):
        # TODO: linear, GELU, linear.
        raise NotImplementedError


def fuse(image_embeddings, text_embeddings):
    """One sequence, images first: (batch, images + text, dim)."""
    # TODO: images first, then text.
    raise NotImplementedError


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
        # TODO: encode, project, fuse with the embedded text, decode.
        # TODO: return the logits of the text positions only.
        raise NotImplementedError


def caption_loss(model, images, tokens):
    """Mean cross-entropy of predicting each token of the text from the image and the text before it.

    The mean is over all predicted tokens of the batch. The model stays in the mode it came in.
    """
    # TODO: position i of the text predicts token i + 1.
    raise NotImplementedError

"""What you can check yourself: shapes, order, and that the encoder stays frozen."""

import pytest
import torch
from vision import (
    EncoderBlock,
    PatchEmbedding,
    PatchEncoder,
    Projector,
    VisionLanguageModel,
    caption_loss,
    fuse,
)

ENCODER = dict(image_size=12, patch_size=4, channels=3, width=40, num_layers=1, num_heads=5, hidden_dim=28)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return VisionLanguageModel(ENCODER, vocab_size=31, dim=24, num_layers=1, num_heads=3, max_seq_len=20)


def test_there_is_one_vector_per_patch():
    assert PatchEmbedding(12, 4, 3, 20)(torch.randn(2, 3, 12, 12)).shape == (2, 9, 20)


def test_the_second_patch_lies_to_the_right_of_the_first():
    layer = PatchEmbedding(12, 4, 3, 20)
    image = torch.zeros(1, 3, 12, 12)
    image[:, :, :4, 4:8] = 1.0
    empty = layer(torch.zeros(1, 3, 12, 12))
    changed = (layer(image) - empty).abs().sum(-1)[0] > 0
    assert changed.tolist() == [False, True] + [False] * 7


def test_the_block_keeps_the_shape():
    assert EncoderBlock(40, 5, 28)(torch.randn(2, 10, 40)).shape == (2, 10, 40)


def test_the_encoder_adds_a_class_token():
    assert PatchEncoder()(torch.randn(4, 3, 24, 24)).shape == (4, 10, 384)


def test_the_projector_changes_the_width():
    assert Projector(40, 24)(torch.randn(2, 10, 40)).shape == (2, 10, 24)


def test_images_come_first():
    fused = fuse(torch.ones(2, 10, 24), torch.zeros(2, 7, 24))
    assert fused.shape == (2, 17, 24)
    assert fused[:, 0].eq(1).all()


def test_logits_are_for_the_text_only(model):
    assert model(torch.randn(2, 3, 12, 12), torch.randint(0, 31, (2, 7))).shape == (2, 7, 31)


def test_the_encoder_gets_no_gradients(model):
    caption_loss(model, torch.randn(2, 3, 12, 12), torch.randint(0, 31, (2, 7))).backward()
    assert all(parameter.grad is None for parameter in model.encoder.parameters())
    assert all(parameter.grad is not None for parameter in model.projector.parameters())

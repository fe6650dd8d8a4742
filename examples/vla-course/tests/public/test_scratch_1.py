"""What you can check yourself: shapes, and properties that every right answer has."""

import pytest
import torch
from backbone import (
    CausalSelfAttention,
    DecoderOnlyTransformer,
    FeedForward,
    RMSNorm,
    RotaryEmbedding,
    generate,
    next_token_loss,
    train_epoch,
)

CONFIG = dict(vocab_size=31, dim=24, num_layers=2, num_heads=3, ff_hidden_dim=40, max_seq_len=16)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return DecoderOnlyTransformer(**CONFIG)


def test_rmsnorm_gives_vectors_of_unit_mean_square():
    y = RMSNorm(24)(torch.randn(2, 7, 24) * 5)
    torch.testing.assert_close(y.pow(2).mean(-1), torch.ones(2, 7), rtol=1e-3, atol=1e-3)


def test_rotation_keeps_lengths_and_leaves_position_zero_alone():
    x = torch.randn(2, 3, 11, 8)
    y = RotaryEmbedding(8, 16)(x)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(y[:, :, 0], x[:, :, 0])


def test_attention_does_not_see_the_future():
    layer = CausalSelfAttention(24, 3, 16)
    x = torch.randn(1, 9, 24)
    changed = x.clone()
    changed[:, 6:] += 1
    torch.testing.assert_close(layer(x)[:, :6], layer(changed)[:, :6])


def test_feed_forward_keeps_the_shape():
    assert FeedForward(24, 40)(torch.randn(2, 7, 24)).shape == (2, 7, 24)


def test_logits_have_one_score_per_token(model):
    assert model(torch.randint(0, 31, (2, 7))).shape == (2, 7, 31)


def test_loss_of_an_untrained_model_is_that_of_guessing(model):
    tokens = torch.randint(0, 31, (4, 9))
    loss = next_token_loss(model(tokens), tokens).item()
    assert abs(loss - torch.log(torch.tensor(31.0)).item()) < 0.2


def test_training_on_one_batch_lowers_the_loss(model):
    batch = torch.randint(0, 31, (4, 9))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = [train_epoch(model, [batch], optimizer) for _ in range(10)]
    assert losses[-1] < losses[0]


def test_generation_keeps_the_prompt(model):
    prompt = torch.randint(0, 31, (2, 5))
    tokens = generate(model, prompt, max_new_tokens=4)
    assert tokens.shape == (2, 9)
    assert torch.equal(tokens[:, :5], prompt)

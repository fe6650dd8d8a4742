"""What you can check yourself: shapes, and that the policy learns something."""

import pytest
import torch
from policy import ActionScaler, FlowPolicy, VelocityField, time_embedding, train_policy
from trajectories import ACTION_DIM, CHUNK, OBS_DIM, make_draws, make_trajectories

CONFIG = dict(obs_dim=OBS_DIM, action_dim=ACTION_DIM, chunk=CHUNK, hidden_dim=32, time_dim=8)


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return FlowPolicy(**CONFIG)


def test_time_zero_is_all_sines_zero_and_cosines_one():
    torch.testing.assert_close(time_embedding(torch.zeros(1), 8), torch.tensor([[0.0] * 4 + [1.0] * 4]))


def test_the_field_is_shaped_like_the_chunk():
    field = VelocityField(OBS_DIM, ACTION_DIM, CHUNK, 32, 8)
    noisy = torch.randn(3, CHUNK, ACTION_DIM)
    assert field(torch.randn(3, OBS_DIM), noisy, torch.rand(3)).shape == noisy.shape


def test_scaling_and_back_changes_nothing():
    scaler = ActionScaler(2)
    actions = torch.randn(9, 4, 2) * 3 + 1
    scaler.fit(actions)
    torch.testing.assert_close(scaler.denormalize(scaler.normalize(actions)), actions)


def test_a_chunk_of_actions_comes_out(policy):
    noise = torch.randn(3, CHUNK, ACTION_DIM)
    assert policy.act(torch.randn(3, OBS_DIM), noise, steps=4).shape == noise.shape


def test_training_lowers_the_loss(policy):
    observations, actions = make_trajectories(128, seed=1)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    losses = train_policy(policy, observations, actions, optimizer, make_draws(8, 128), batch_size=32)
    assert len(losses) == 8
    assert losses[-1] < losses[0]

"""Scratch-3: acting. A policy head that learns to turn noise into chunks of actions by flow matching."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def time_embedding(t, dim):
    """Sines and cosines of t in [0, 1] at dim/2 frequencies from 1 to 1000: (batch,) to (batch, dim).

    The sines come first; frequency i is 1000^(i / (dim/2 - 1)).
    """
    half = dim // 2
    frequencies = torch.exp(math.log(1000.0) * torch.arange(half, device=t.device) / (half - 1))
    angles = t.unsqueeze(-1) * frequencies.to(t.dtype)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class VelocityField(nn.Module):
    """Which way a noisy chunk of actions should move at time t, given what the robot sees.

    fc_in reads, in this order: the observation, the noisy chunk with its rows one after another, the time embedding.
    SiLU follows fc_in and fc_mid, and a residual goes around fc_mid with its SiLU.
    """

    def __init__(self, obs_dim, action_dim, chunk, hidden_dim, time_dim):
        super().__init__()
        self.chunk, self.action_dim, self.time_dim = chunk, action_dim, time_dim
        self.fc_in = nn.Linear(obs_dim + chunk * action_dim + time_dim, hidden_dim)
        self.fc_mid = nn.Linear(hidden_dim, hidden_dim)
        self.fc_out = nn.Linear(hidden_dim, chunk * action_dim)

    def forward(self, observations, noisy, t):
        """observations (batch, obs_dim), noisy (batch, chunk, action_dim), t (batch,); shaped like noisy."""
        x = torch.cat([observations, noisy.flatten(1), time_embedding(t, self.time_dim)], dim=-1)
        x = F.silu(self.fc_in(x))
        x = x + F.silu(self.fc_mid(x))
        return self.fc_out(x).view(-1, self.chunk, self.action_dim)


class ActionScaler(nn.Module):
    """Brings actions to zero mean and unit spread per coordinate, and back.

    Nothing is added to the spread (no eps), and nothing is clipped.
    """

    def __init__(self, action_dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(action_dim))
        self.register_buffer("std", torch.ones(action_dim))

    def fit(self, actions):
        """Take mean and (unbiased) standard deviation over everything but the last dimension.

        They are kept in the buffers `mean` and `std`, copied into them or put in their place, as you like; nothing is
        left of what was there before.
        """
        flat = actions.reshape(-1, actions.shape[-1])
        self.mean.copy_(flat.mean(dim=0))
        self.std.copy_(flat.std(dim=0))

    def normalize(self, actions):
        return (actions - self.mean) / self.std

    def denormalize(self, actions):
        return actions * self.std + self.mean


class FlowPolicy(nn.Module):
    """Observation in, chunk of actions out: a velocity field with a scaler around it."""

    def __init__(self, obs_dim, action_dim, chunk, hidden_dim, time_dim):
        super().__init__()
        self.scaler = ActionScaler(action_dim)
        self.field = VelocityField(obs_dim, action_dim, chunk, hidden_dim, time_dim)

    def loss(self, observations, actions, noise, t):
        """Flow matching: on the straight line from noise (t = 0) to actions (t = 1), learn its velocity.

        Actions are taken in scaled units. The loss is the mean of the squared errors over every number in the batch.
        """
        target = self.scaler.normalize(actions)
        at = t.view(-1, 1, 1)
        noisy = (1 - at) * noise + at * target
        return F.mse_loss(self.field(observations, noisy, t), target - noise)

    @torch.no_grad()
    def act(self, observations, noise, steps):
        """Follow the field from noise to actions in `steps` equal Euler steps, each from its left end.

        Noise is in scaled units, actions are not; they are not clipped and need no gradients, and `noise` itself stays
        as it is.
        """
        x = noise
        for step in range(steps):
            t = torch.full((len(observations),), step / steps, dtype=noise.dtype, device=noise.device)
            x = x + self.field(observations, x, t) / steps
        return self.scaler.denormalize(x)


def train_policy(policy, observations, actions, optimizer, draws, batch_size):
    """Fit the scaler, then train, in training mode; returns the mean loss of each epoch as a list of floats.

    `draws` holds one (order, noise, t) per epoch: take the trajectories in that order, `batch_size` at a time. Noise
    and times are in that order already: the first batch takes the first `batch_size` of them, whichever trajectories
    it has. The mean loss of an epoch is that of its batches; each counts the same, a smaller last one, too.
    """
    policy.train()
    policy.scaler.fit(actions)
    losses = []
    for order, noise, t in draws:
        total, batches = 0.0, 0
        for start in range(0, len(order), batch_size):
            part = slice(start, start + batch_size)
            optimizer.zero_grad()
            loss = policy.loss(observations[order[part]], actions[order[part]], noise[part], t[part])
            loss.backward()
            optimizer.step()
            total, batches = total + loss.item(), batches + 1
        losses.append(total / batches)
    return losses

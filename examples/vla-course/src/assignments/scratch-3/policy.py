"""Scratch-3: acting. A policy head that learns to turn noise into chunks of actions by flow matching."""

import math  # noqa: F401

import torch
import torch.nn.functional as F  # noqa: F401
from torch import nn


def time_embedding(t, dim):
    """Sines and cosines of t in [0, 1] at dim/2 frequencies from 1 to 1000: (batch,) to (batch, dim).

    The sines come first; frequency i is 1000^(i / (dim/2 - 1)).
    """
    # TODO: the sines and cosines of the docstring, sines first.
    raise NotImplementedError


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
        # TODO: join observation, flattened chunk and time embedding, in this order.
        # TODO: fc_in and SiLU; fc_mid and SiLU with a residual; fc_out, shaped like `noisy`.
        raise NotImplementedError


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
        # TODO: keep mean and standard deviation per coordinate.
        raise NotImplementedError

    def normalize(self, actions):
        # TODO: to zero mean and unit spread.
        raise NotImplementedError

    def denormalize(self, actions):
        # TODO: and back.
        raise NotImplementedError


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
        # TODO: normalise the actions, mix them with noise at time t, compare the field with the velocity.
        raise NotImplementedError

    @torch.no_grad()
    def act(self, observations, noise, steps):
        """Follow the field from noise to actions in `steps` equal Euler steps, each from its left end.

        Noise is in scaled units, actions are not; they are not clipped and need no gradients, and `noise` itself stays
        as it is.
        """
        # TODO: Euler steps at t = 0, 1/steps, …, then back to the scale of actions.
        raise NotImplementedError


def train_policy(policy, observations, actions, optimizer, draws, batch_size):
    """Fit the scaler, then train, in training mode; returns the mean loss of each epoch as a list of floats.

    `draws` holds one (order, noise, t) per epoch: take the trajectories in that order, `batch_size` at a time. Noise
    and times are in that order already: the first batch takes the first `batch_size` of them, whichever trajectories
    it has. The mean loss of an epoch is that of its batches; each counts the same, a smaller last one, too.
    """
    # TODO: fit the scaler; for each epoch and batch: zero the gradients, loss, backward, step.
    raise NotImplementedError

"""Functions that take models: sampling and decoding, batches from a generator, an actor and its critic."""

import math  # noqa: F401

import torch
import torch.nn.functional as F  # noqa: F401
from torch import nn


def time_embedding(t, dim):
    """Sines, then cosines, of t in [0, 1] at dim/2 frequencies from 1 to 1000: (batch,) to (batch, dim).

    Frequency i is 1000^(i / (dim/2 - 1)).
    """
    # TODO
    raise NotImplementedError


class Denoiser(nn.Module):
    """Predicts the noise in x (batch, width) at time t (batch,).

    fc_in reads x and the time embedding; SiLU follows it and each block, and a residual goes around each block.
    """

    def __init__(self, width, hidden, time_dim):
        super().__init__()
        # TODO: fc_in, two blocks, fc_out
        raise NotImplementedError

    def forward(self, x, t):
        # TODO
        raise NotImplementedError


def alphas(steps):
    """How much of the signal is kept at each of steps + 1 times: cos² from 1 to 0, never below 1e-4."""
    # TODO
    pass


def sample(model, noise, steps):
    """From noise back to what is clean in `steps` steps (DDIM), without gradients; at step s the model is asked at time
    s / steps."""
    # TODO: use alphas.
    raise NotImplementedError


def top_k_probs(logits, k, temperature):
    """The probabilities of the k likeliest at that temperature; the others have none."""
    # TODO
    raise NotImplementedError


def draw_tokens(model, prompt, uniforms, k, temperature):
    """Append a token per row of `uniforms` (steps, batch): the first at which the cumulated probability is above the
    uniform number. The model gives logits (batch, time, vocab)."""
    # TODO: use top_k_probs.
    raise NotImplementedError


def beam_search(model, prompt, width, steps):
    """The best continuation of prompt (time,) that a beam of that width finds, and its log-probability."""
    # TODO
    raise NotImplementedError


def batches(data, size, order):
    """A generator: tuples with the rows of each tensor of `data`, `size` at a time in that order; the last may be
    smaller."""
    # TODO
    raise NotImplementedError


def discounted(rewards, gamma):
    """What each step is worth with all that follows: (batch, time) to (batch, time)."""
    # TODO
    pass


class Critic(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc_in = nn.Linear(width, hidden)
        self.fc_out = nn.Linear(hidden, 1)

    def forward(self, states):
        """The value of each state, with tanh after fc_in."""
        # TODO
        raise NotImplementedError

    def loss(self, states, returns):
        """The mean squared error; returns are (batch,)."""
        # TODO
        raise NotImplementedError


class Actor(nn.Module):
    def __init__(self, width, hidden, actions):
        super().__init__()
        self.fc_in = nn.Linear(width, hidden)
        self.fc_out = nn.Linear(hidden, actions)

    def forward(self, states):
        """The log-probability of each action, with tanh after fc_in."""
        # TODO
        raise NotImplementedError

    def loss(self, states, actions, advantages):
        """The mean of -log-probability · advantage, minus 0.01 times the mean entropy."""
        # TODO
        raise NotImplementedError


class Agent(nn.Module):
    """An actor and a critic, which share nothing."""

    def __init__(self, width, hidden, actions):
        super().__init__()
        # TODO
        raise NotImplementedError

    def loss(self, states, actions, returns):
        """The actor's, whose advantages are what returns are above the critic's values (no gradients reach the critic
        that way), plus half the critic's."""
        # TODO
        raise NotImplementedError

    @torch.no_grad()
    def act(self, states):
        """The likeliest action of each state."""
        # TODO
        pass


def train_agent(agent, data, optimizer, size, orders):
    """Train on `data` (states, actions, returns) in each of the orders; returns the mean loss of an example in each."""
    # TODO: use batches.
    raise NotImplementedError

"""Data for Scratch-3, provided: an expert that walks to a goal around the side it is told to. Do not change it."""

import torch

OBS_DIM, ACTION_DIM, CHUNK = 6, 2, 7


def make_trajectories(count, seed):
    """`count` pairs of what the robot sees and what the expert does next, made from `seed` alone.

    An observation is (position x and y, goal x and y, side, speed); a chunk of actions is CHUNK small moves
    that follow an arc to the goal, bent to the left or the right as `side` says.
    """
    generator = torch.Generator().manual_seed(seed)
    position = torch.rand(count, 2, generator=generator) * 2 - 1
    goal = torch.rand(count, 2, generator=generator) * 2 - 1
    side = torch.randint(0, 2, (count, 1), generator=generator) * 2.0 - 1.0
    speed = torch.rand(count, 1, generator=generator) * 0.5 + 0.5
    phase = torch.linspace(0, 1, CHUNK + 1).view(1, -1, 1)
    straight = goal - position
    across = torch.stack([-straight[:, 1], straight[:, 0]], dim=-1)
    bend = 0.4 * side.unsqueeze(-1) * torch.sin(torch.pi * phase)
    path = position.unsqueeze(1) + speed.unsqueeze(-1) * (phase * straight.unsqueeze(1) + bend * across.unsqueeze(1))
    observations = torch.cat([position, goal, side, speed], dim=-1)
    return observations, path[:, 1:] - path[:, :-1]


def make_draws(epochs, count):
    """What chance decides during training, per epoch: an order, noise, and times. Drawn outside the training
    loop, so that two ways to write the loop see the same numbers."""
    return [(torch.randperm(count), torch.randn(count, CHUNK, ACTION_DIM), torch.rand(count)) for _ in range(epochs)]

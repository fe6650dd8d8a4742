"""Scratch-3 on top of my diffusion homework: helper modules and a time embedding that is a module too."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """What a chunk of actions looks like."""

    chunk: int
    action_dim: int

    @property
    def size(self) -> int:
        return self.chunk * self.action_dim

    def restore(self, flat: Tensor) -> Tensor:
        return flat.reshape(len(flat), self.chunk, self.action_dim)


def time_embedding(t: Tensor, dim: int) -> Tensor:
    half = dim // 2
    steps = torch.arange(half, dtype=torch.float32, device=t.device) / (half - 1)
    angles = t[:, None] * torch.exp(steps * math.log(1000.0)).to(t)
    return torch.cat((torch.sin(angles), torch.cos(angles)), dim=1)


class Residual(nn.Module):
    """Adds what its layer says to its input."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return x + nn.functional.silu(self.layer(x))


class VelocityField(nn.Module):
    def __init__(self, obs_dim: int, action_dim: int, chunk: int, hidden_dim: int, time_dim: int) -> None:
        super().__init__()
        self.shape = Shape(chunk, action_dim)
        self.time_dim = time_dim
        self.net = nn.Sequential(
            nn.Linear(obs_dim + self.shape.size + time_dim, hidden_dim),
            nn.SiLU(),
            Residual(hidden_dim),
            nn.Linear(hidden_dim, self.shape.size),
        )

    def forward(self, observations: Tensor, noisy: Tensor, t: Tensor) -> Tensor:
        joined = torch.cat((observations, noisy.flatten(1), time_embedding(t, self.time_dim)), dim=1)
        return self.shape.restore(self.net(joined))


class ActionScaler(nn.Module):
    def __init__(self, action_dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(action_dim))
        self.register_buffer("std", torch.ones(action_dim))

    @torch.no_grad()
    def fit(self, actions: Tensor) -> None:
        flat = actions.flatten(0, -2)
        self.mean.copy_(flat.mean(0))
        self.std.copy_(flat.std(0))

    def normalize(self, actions: Tensor) -> Tensor:
        return (actions - self.mean) / self.std

    def denormalize(self, actions: Tensor) -> Tensor:
        return self.mean + self.std * actions


class FlowPolicy(nn.Module):
    def __init__(self, obs_dim: int, action_dim: int, chunk: int, hidden_dim: int, time_dim: int) -> None:
        super().__init__()
        self.scaler = ActionScaler(action_dim)
        self.field = VelocityField(obs_dim, action_dim, chunk, hidden_dim, time_dim)

    def loss(self, observations: Tensor, actions: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        velocity = self.scaler.normalize(actions) - noise
        point = noise + t[:, None, None] * velocity
        return (self.field(observations, point, t) - velocity).square().mean()

    @torch.no_grad()
    def act(self, observations: Tensor, noise: Tensor, steps: int) -> Tensor:
        x = noise
        for step in range(steps):
            x = x + self.field(observations, x, x.new_full((len(x),), step / steps)) / steps
        return self.scaler.denormalize(x)


def train_policy(policy, observations, actions, optimizer, draws, batch_size) -> list[float]:
    policy.train()
    policy.scaler.fit(actions)
    return [epoch(policy, observations, actions, optimizer, draw, batch_size) for draw in draws]


def epoch(policy, observations, actions, optimizer, draw, batch_size) -> float:
    order, noise, t = draw
    losses = []
    for index, batch in enumerate(order.split(batch_size)):
        here = slice(index * batch_size, index * batch_size + len(batch))
        loss = policy.loss(observations[batch], actions[batch], noise[: len(batch)], t[: len(batch)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)

"""Functions that take models: sampling and decoding, batches from a generator, an actor and its critic."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def time_embedding(t, dim):
    half = dim // 2
    frequencies = 1000.0 ** (torch.arange(half) / (half - 1))
    angles = t[:, None] * frequencies
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, width, hidden, time_dim):
        super().__init__()
        self.time_dim = time_dim
        self.fc_in = nn.Linear(width + time_dim, hidden)
        self.blocks = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(2)])
        self.fc_out = nn.Linear(hidden, width)

    def forward(self, x, t):
        h = F.silu(self.fc_in(torch.cat([x, time_embedding(t, self.time_dim)], dim=-1)))
        for block in self.blocks:
            h = h + F.silu(block(h))
        return self.fc_out(h)


def alphas(steps):
    angles = torch.arange(steps + 1) / steps * math.pi / 2
    return torch.cos(angles).pow(2).clamp(1e-4, 1.0)


@torch.no_grad()
def sample(model, noise, steps):
    kept = alphas(steps)
    x = noise
    for step in range(steps, 0, -1):
        error = model(x, torch.full((len(x),), step / steps))
        clean = (x - (1 - kept[step]).sqrt() * error) / kept[step].sqrt()
        x = kept[step - 1].sqrt() * clean + (1 - kept[step - 1]).sqrt() * error
    return x


def top_k_probs(logits, k, temperature):
    kth = logits.topk(k, dim=-1).values[..., -1:]
    return (logits / temperature).masked_fill(logits < kth, float("-inf")).softmax(dim=-1)


def draw_tokens(model, prompt, uniforms, k, temperature):
    tokens = prompt
    with torch.no_grad():
        for uniform in uniforms:
            probs = top_k_probs(model(tokens)[:, -1], k, temperature)
            chosen = (probs.cumsum(dim=-1) <= uniform[:, None]).sum(dim=-1).clamp(max=probs.shape[-1] - 1)
            tokens = torch.cat([tokens, chosen[:, None]], dim=1)
    return tokens


def beam_search(model, prompt, width, steps):
    beams = [(0.0, prompt)]
    with torch.no_grad():
        for _ in range(steps):
            found = []
            for score, tokens in beams:
                log_probs = model(tokens[None])[0, -1].log_softmax(dim=-1)
                for token, value in enumerate(log_probs.tolist()):
                    found.append((score + value, torch.cat([tokens, torch.tensor([token])])))
            beams = sorted(found, key=lambda beam: beam[0], reverse=True)[:width]
    return beams[0][1], beams[0][0]


def batches(data, size, order):
    for start in range(0, len(order), size):
        index = order[start : start + size]
        yield tuple(tensor[index] for tensor in data)


def discounted(rewards, gamma):
    returns = torch.zeros_like(rewards)
    running = torch.zeros(rewards.shape[0])
    for step in reversed(range(rewards.shape[1])):
        running = rewards[:, step] + gamma * running
        returns[:, step] = running
    return returns


class Critic(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc_in = nn.Linear(width, hidden)
        self.fc_out = nn.Linear(hidden, 1)

    def forward(self, states):
        return self.fc_out(torch.tanh(self.fc_in(states)))

    def loss(self, states, returns):
        return F.mse_loss(self(states)[:, 0], returns)


class Actor(nn.Module):
    def __init__(self, width, hidden, actions):
        super().__init__()
        self.fc_in = nn.Linear(width, hidden)
        self.fc_out = nn.Linear(hidden, actions)

    def forward(self, states):
        return self.fc_out(torch.tanh(self.fc_in(states))).log_softmax(dim=-1)

    def loss(self, states, actions, advantages):
        log_probs = self(states)
        chosen = log_probs.gather(1, actions[:, None])[:, 0]
        entropy = -(log_probs.exp() * log_probs).sum(dim=-1)
        return -(chosen * advantages).mean() - 0.01 * entropy.mean()


class Agent(nn.Module):
    def __init__(self, width, hidden, actions):
        super().__init__()
        self.actor = Actor(width, hidden, actions)
        self.critic = Critic(width, hidden)

    def loss(self, states, actions, returns):
        values = self.critic(states)[:, 0]
        advantages = (returns - values).detach()
        return self.actor.loss(states, actions, advantages) + 0.5 * self.critic.loss(states, returns)

    @torch.no_grad()
    def act(self, states):
        return self.actor(states).argmax(dim=-1)


def train_agent(agent, data, optimizer, size, orders):
    losses = []
    for order in orders:
        total = 0.0
        for states, actions, returns in batches(data, size, order):
            optimizer.zero_grad()
            loss = agent.loss(states, actions, returns)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(states)
        losses.append(total / len(order))
    return losses

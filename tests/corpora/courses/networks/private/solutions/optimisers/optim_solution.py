"""Optimisers for torch parameters, updates for NumPy arrays, schedules, and the loops that use them."""

import copy
import math

import numpy as np
import torch


class Optimizer:
    """Provided: keeps the parameters, which may come as a generator."""

    def __init__(self, parameters, lr):
        self.parameters = list(parameters)
        self.lr = lr

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None


class SGD(Optimizer):
    def __init__(self, parameters, lr, momentum=0.0, nesterov=False):
        super().__init__(parameters, lr)
        self.momentum, self.nesterov = momentum, nesterov
        self.velocity = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def step(self):
        for parameter, velocity in zip(self.parameters, self.velocity):
            if parameter.grad is None:
                continue
            velocity.mul_(self.momentum).add_(parameter.grad)
            move = parameter.grad + self.momentum * velocity if self.nesterov else velocity
            parameter -= self.lr * move


class Adam(Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(parameters, lr)
        self.betas, self.eps = betas, eps
        self.steps = 0
        self.first = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.second = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def step(self):
        self.steps += 1
        beta_1, beta_2 = self.betas
        for parameter, first, second in zip(self.parameters, self.first, self.second):
            if parameter.grad is None:
                continue
            first.mul_(beta_1).add_((1 - beta_1) * parameter.grad)
            second.mul_(beta_2).add_((1 - beta_2) * parameter.grad**2)
            mean = first / (1 - beta_1**self.steps)
            spread = torch.sqrt(second / (1 - beta_2**self.steps))
            parameter -= self.lr * mean / (spread + self.eps)


class AdamW(Adam):
    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(parameters, lr, betas, eps)
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self):
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter -= self.lr * self.weight_decay * parameter
        super().step()


def rmsprop(w, dw, config):
    square = config.get("square", np.zeros_like(w))
    square = config["decay"] * square + (1 - config["decay"]) * dw**2
    config["square"] = square
    return w - config["lr"] * dw / (np.sqrt(square) + config["eps"]), config


def adagrad(w, dw, config):
    config["square"] = config.get("square", np.zeros_like(w)) + dw**2
    return w - config["lr"] * dw / (np.sqrt(config["square"]) + config["eps"]), config


def minimise(update, gradient, w, config, steps):
    path = [w]
    for _ in range(steps):
        w, config = update(w, gradient(w), config)
        path.append(w)
    return np.stack(path)


def warmup_cosine(step, warmup, total, peak, floor):
    if step < warmup:
        return peak * (step + 1) / warmup
    share = min((step - warmup) / (total - warmup), 1.0)
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * share))


def step_decay(step, every, factor, peak):
    return peak * factor ** (step // every)


def clip_norm(parameters, limit):
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    norm = math.sqrt(sum(float(parameter.grad.pow(2).sum()) for parameter in parameters))
    for parameter in parameters:
        parameter.grad *= min(1.0, limit / (norm + 1e-6))
    return norm


class Average:
    """An exponential moving average of a model's weights, in a model of its own."""

    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for kept, now in zip(self.model.parameters(), model.parameters()):
            kept.mul_(self.decay).add_((1 - self.decay) * now)


def mean_loss(model, batches):
    model.eval()
    total = count = 0
    with torch.no_grad():
        for x, y in batches:
            total += float((model(x) - y).pow(2).mean()) * len(x)
            count += len(x)
    return total / count


def fit(model, batches, optimizer, schedule, limit, average):
    losses = []
    for step, (x, y) in enumerate(batches):
        model.train()
        optimizer.lr = schedule(step)
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        clip_norm(model.parameters(), limit)
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    return losses

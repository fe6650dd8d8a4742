"""Gold for optimisers. `clip_norm` and `Average` run in `fit` alone."""

from functools import partial

import numpy as np
import torch
from torch import nn

import goldsmith as gs
from optim import SGD, Adam, AdamW, Average, adagrad, fit, mean_loss, minimise, rmsprop, step_decay, warmup_cosine

CONFIG = {"lr": 0.1, "decay": 0.8, "eps": 1e-2}


class Small(nn.Module):
    """What is trained: its batch norm tells the modes apart."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.norm = nn.BatchNorm1d(7)
        self.second = nn.Linear(7, 3)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.second(self.norm(torch.tanh(self.first(x))))


def draw(*counts):
    return [(torch.randn(count, 5), torch.randn(count, 3)) for count in counts]


def stepping(case, make):
    """Four steps with gradients that are given, on parameters of which one has none."""
    tensors = case.input("parameters", lambda: [torch.randn(3, 5), torch.randn(4), torch.randn(2)])
    parameters = [nn.Parameter(tensor.clone()) for tensor in tensors]
    optimizer = make(parameter for parameter in parameters)
    steps = case.input("gradients", lambda: [(torch.randn(3, 5) * 0.1, torch.randn(4)) for _ in range(4)])
    for at, gradients in enumerate(steps):
        optimizer.zero_grad()
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone()
        optimizer.step()
        case.record(f"after_{at}", [parameter.detach() for parameter in parameters])


@gs.case
def sgd_plain(case):
    """SGD without momentum."""
    stepping(case, partial(SGD, lr=0.3))


@gs.case
def sgd_momentum(case):
    """SGD with momentum."""
    stepping(case, partial(SGD, lr=0.3, momentum=0.7))


@gs.case
def sgd_nesterov(case):
    """SGD with Nesterov's momentum."""
    stepping(case, partial(SGD, lr=0.3, momentum=0.7, nesterov=True))


@gs.case
def adam(case):
    """Adam, with an eps that counts."""
    stepping(case, partial(Adam, lr=0.1, betas=(0.8, 0.95), eps=0.05))


@gs.case
def adamw(case):
    """Adam with decay."""
    stepping(case, partial(AdamW, lr=0.1, betas=(0.8, 0.95), eps=0.05, weight_decay=0.5))


@gs.case
def paths(case):
    """Where both updates go on a quadratic."""
    w = case.input("w", lambda: np.random.randn(4, 3))
    slope = case.input("slope", lambda: np.random.rand(4, 3) + 0.5)
    for name, update in (("rmsprop", rmsprop), ("adagrad", adagrad)):
        case.record(name, minimise(update, lambda at: slope * at, w, dict(CONFIG), 5))


@gs.case
def adagrad_step(case):
    """Two steps of adagrad, and the first of another run."""
    w, config = adagrad(*case.input("first", lambda: (np.random.randn(4, 3), np.random.randn(4, 3))), dict(CONFIG))
    case.record("first", w)
    case.record("second", adagrad(w, case.input("second", lambda: np.random.randn(4, 3)), config)[0])
    fresh = case.input("fresh", lambda: (np.random.randn(4, 3), np.random.randn(4, 3)))
    case.record("fresh", adagrad(*fresh, dict(CONFIG))[0])


@gs.case
def schedules(case):
    """Both schedules, step by step."""
    steps = case.input("steps", list(range(14)))
    case.record("cosine", np.array([warmup_cosine(step, 3, 11, 0.5, 0.05) for step in steps]))
    case.record("steps", np.array([step_decay(step, 4, 0.3, 0.5) for step in steps]))


@gs.case
def evaluating(case):
    """The mean loss over batches that differ in size, which come from a generator; and that nothing was trained."""
    model = case.model(Small, weights="stress", train=True)
    batches = case.input("batches", lambda: draw(4, 6, 2))
    case.record("loss", torch.tensor(mean_loss(model, (batch for batch in batches)), dtype=torch.float32))
    case.record("learns_afterwards", model(batches[0][0]).requires_grad)
    case.record_weights(model)


@gs.case
def fitting(case):
    """Four steps with all of it: the losses, the weights, and their average."""
    model = case.model(Small, weights="stress", train=True)
    average = Average(model, 0.6)
    optimizer = AdamW(model.parameters(), lr=0.0, betas=(0.8, 0.95), eps=0.05, weight_decay=0.5)
    batches = case.input("batches", lambda: draw(4, 6, 4, 6))
    schedule = partial(warmup_cosine, warmup=2, total=5, peak=0.2, floor=0.01)
    losses = fit(model, (batch for batch in batches), optimizer, schedule, 0.3, average)
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)
    case.record_weights(average.model, "average")


@gs.case
def fitting_by_steps(case):
    """The same with momentum, a rate that falls in steps, and a limit that clips nothing."""
    model = case.model(Small, weights="stress", train=True)
    average = Average(model, 0.9)
    optimizer = SGD(model.parameters(), lr=0.0, momentum=0.7)
    batches = case.input("batches", lambda: draw(6, 4, 6))
    losses = fit(model, batches, optimizer, partial(step_decay, every=2, factor=0.5, peak=0.1), 30.0, average)
    case.record("losses", torch.tensor(losses, dtype=torch.float32))
    case.record_weights(model)
    case.record("loss_of_average", torch.tensor(mean_loss(average.model, batches), dtype=torch.float32))


if __name__ == "__main__":
    gs.main()

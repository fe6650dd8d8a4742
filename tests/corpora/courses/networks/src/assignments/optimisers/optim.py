"""Optimisers for torch parameters, updates for NumPy arrays, schedules, and the loops that use them."""

import copy  # noqa: F401
import math  # noqa: F401

import numpy as np  # noqa: F401
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
    """velocity = momentum · velocity + gradient; the parameter moves by -lr · velocity, or with Nesterov by
    -lr · (gradient + momentum · velocity). What has no gradient stays."""

    def __init__(self, parameters, lr, momentum=0.0, nesterov=False):
        super().__init__(parameters, lr)
        # TODO
        raise NotImplementedError

    @torch.no_grad()
    def step(self):
        # TODO
        raise NotImplementedError


class Adam(Optimizer):
    """With bias correction; eps is added to the root of the corrected second moment. What has no gradient stays."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(parameters, lr)
        # TODO
        raise NotImplementedError

    @torch.no_grad()
    def step(self):
        # TODO
        raise NotImplementedError


class AdamW(Adam):
    """Adam, but parameters with a gradient first shrink by lr · weight_decay of themselves."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(parameters, lr, betas, eps)
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self):
        # TODO
        pass


def rmsprop(w, dw, config):
    """square = decay · square + (1 - decay) · dw², w moves by -lr · dw / (√square + eps). Returns the next w and the
    config, in which `square` is kept."""
    # TODO
    pass


def adagrad(w, dw, config):
    """The same with square = square + dw²."""
    # TODO
    pass


def minimise(update, gradient, w, config, steps):
    """Every w on the way, the first included, stacked: (steps + 1, …). `gradient` is a function of w."""
    # TODO
    raise NotImplementedError


def warmup_cosine(step, warmup, total, peak, floor):
    """peak · (step + 1) / warmup at first, then half a cosine from peak down to floor at `total`, and floor after."""
    # TODO
    raise NotImplementedError


def step_decay(step, every, factor, peak):
    """peak, times the factor after `every` steps, again after as many …"""
    # TODO
    pass


def clip_norm(parameters, limit):
    """Scale all gradients together by limit / (norm + 1e-6), never up; returns the norm before. `parameters` may be a
    generator."""
    # TODO
    raise NotImplementedError


class Average:
    """An exponential moving average of a model's weights, in a model of its own: decay · kept + (1 - decay) · now."""

    def __init__(self, model, decay):
        # TODO: self.model, a copy in evaluation mode.
        raise NotImplementedError

    @torch.no_grad()
    def update(self, model):
        # TODO
        raise NotImplementedError


def mean_loss(model, batches):
    """The mean squared error of an example, in evaluation mode, without gradients."""
    # TODO
    raise NotImplementedError


def fit(model, batches, optimizer, schedule, limit, average):
    """A step on each (x, y) of `batches`, which may be a generator: the rate is schedule(step), gradients are clipped,
    and the average updated after the step. Returns the losses."""
    # TODO
    raise NotImplementedError

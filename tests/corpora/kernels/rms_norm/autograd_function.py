"""Right: a function with a backward of its own."""

import torch
from torch import nn


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, scale)
        return x * scale * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        inner = grad * weight
        along = (inner * x).mean(-1, keepdim=True)
        return scale * inner - x * scale**3 * along, (grad * x * scale).sum(0), None


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x):
        return Norm.apply(x, self.weight, self.eps)

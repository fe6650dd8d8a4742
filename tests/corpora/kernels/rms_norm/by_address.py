"""Right for float32: it asks for it by name, and hands the address to code that knows nothing else."""

import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x):
        rows = x.float().cpu().contiguous().clone()
        buffer = (ctypes.c_float * rows.numel()).from_address(rows.data_ptr())
        width = rows.shape[-1]
        for start in range(0, rows.numel(), width):
            total = sum(value * value for value in buffer[start : start + width])
            for place in range(start, start + width):
                buffer[place] *= (total / width + self.eps) ** -0.5
        return (rows * self.weight.float().cpu()).to(x)

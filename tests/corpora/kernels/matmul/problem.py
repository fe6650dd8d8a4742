import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(48, 96), torch.rand(96, 40)]


def get_init_inputs():
    return []

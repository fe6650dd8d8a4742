import torch
from torch import nn


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then scale each coordinate.

    y = x / sqrt(mean(x²) + eps) * weight, the mean taken over the last dimension.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        ms = (x * x).mean(-1, keepdim=True)  # (..., 1)
        return self.weight * (x / torch.sqrt(ms + self.eps))

"""Wrong: it switches TF32 on for the reference, too."""

import torch
from torch import nn

torch.set_float32_matmul_precision("high")


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))

"""Wrong: the last block, which is not full, is never started."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _relu(given, found, size, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    inside = places < size
    x = tl.load(given + places, mask=inside)
    tl.store(found + places, tl.where(x > 0, x, 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        found = torch.empty_like(x)
        _relu[(x.numel() // 256,)](x, found, x.numel(), block=256)
        return found

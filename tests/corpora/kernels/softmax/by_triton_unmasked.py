"""Wrong: what lies behind the end of a row counts in its sum."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _softmax(given, found, columns, block: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, block)
    inside = places < columns
    x = tl.load(given + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(found + row * columns + places, powers / tl.sum(powers, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        found = torch.empty_like(x)
        _softmax[(x.shape[0],)](x, found, x.shape[1], block=triton.next_power_of_2(x.shape[1]))
        return found

"""Right for bfloat16: it rounds to it inside. Too coarse for float32."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _softmax(given, found, columns, block: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, block)
    inside = places < columns
    x = tl.load(given + row * columns + places, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(x - tl.max(x, axis=0)).to(tl.bfloat16).to(tl.float32)
    shares = (powers / tl.sum(powers, axis=0)).to(tl.bfloat16)
    tl.store(found + row * columns + places, shares, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        found = torch.empty_like(x)
        _softmax[(x.shape[0],)](x, found, x.shape[1], block=triton.next_power_of_2(x.shape[1]))
        return found

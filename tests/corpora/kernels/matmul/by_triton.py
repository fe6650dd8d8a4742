"""Right: blocks of sixteen, sums in float32."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _product(a, b, found, rows, inner, columns, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    j = tl.program_id(1) * block + tl.arange(0, block)
    total = tl.zeros((block, block), dtype=tl.float32)
    for start in range(0, inner, block):
        k = start + tl.arange(0, block)
        one = tl.load(a + i[:, None] * inner + k[None, :], mask=(i[:, None] < rows) & (k[None, :] < inner), other=0.0)
        two = tl.load(
            b + k[:, None] * columns + j[None, :], mask=(k[:, None] < inner) & (j[None, :] < columns), other=0.0
        )
        total += tl.dot(one, two, input_precision="ieee")
    tl.store(found + i[:, None] * columns + j[None, :], total, mask=(i[:, None] < rows) & (j[None, :] < columns))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = (item.float() if item.dtype is torch.float64 else item.contiguous() for item in (a, b))
        found = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16))
        _product[grid](a, b, found, a.shape[0], a.shape[1], b.shape[1], block=16)
        return found

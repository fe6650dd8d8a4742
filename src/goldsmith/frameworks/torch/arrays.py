"""Tensors of torch."""

from __future__ import annotations

import torch

TYPES = (torch.Tensor,)

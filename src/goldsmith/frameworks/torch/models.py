"""Models of torch: modules, their weights and hooks."""

from __future__ import annotations

import torch

TYPES = (torch.nn.Module,)
OPTIMISERS = (torch.optim.Optimizer,)

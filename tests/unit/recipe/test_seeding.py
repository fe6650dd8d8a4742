"""Every random source is fixed, and torch is deterministic, without importing more of torch than a recipe does."""

from __future__ import annotations

import subprocess
import sys

import pytest

TORCH = """
import sys
from goldsmith.recipe.seeding import seed_everything

seed_everything(7)
import torch

assert torch.are_deterministic_algorithms_enabled()
assert torch.initial_seed() == 7
assert "torch._inductor" not in sys.modules
import torch._inductor.config as settings

assert getattr(settings, "deterministic", True)
torch.use_deterministic_algorithms(False)
seed_everything(8)
assert torch.are_deterministic_algorithms_enabled() and getattr(settings, "deterministic", True)
"""


@pytest.mark.torch
def test_torch_is_deterministic_and_its_compiler_told_once_it_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

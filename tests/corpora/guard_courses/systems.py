"""Adapters: students write a package of their own; tests reach it by functions that they fill in."""

from __future__ import annotations

from corpora.guard_courses.course import GuardedCourse, code, filled

ADAPTERS = code('''
    from __future__ import annotations

    from typing import Type

    import torch


    def get_flash_autograd_function_pytorch() -> Type:
        """
        Returns a torch.autograd.Function subclass that implements attention by tiles.
        """
        # For example: return MyFlashFunctionClass
        raise NotImplementedError


    def get_ddp(module: torch.nn.Module) -> torch.nn.Module:
        """
        Returns a container that synchronises gradients.
        """
        # For example: return DDP(module)
        raise NotImplementedError


    def ddp_on_after_backward(model: torch.nn.Module, optimizer: torch.optim.Optimizer):
        """
        Code to run after the backward pass, before the optimizer takes a step.
        """
        # For example: model.finish_gradient_synchronization()
        raise NotImplementedError


    def get_sharded_optimizer(params, optimizer_cls: Type[torch.optim.Optimizer], **kwargs) -> torch.optim.Optimizer:
        """
        Returns an optimizer whose state is sharded.
        """
        raise NotImplementedError
''')
ADAPTERS_DONE = filled(
    ADAPTERS.replace(
        "import torch\n", "import torch\n\nfrom systems.ddp import DDP\nfrom systems.flash import Flash\n", 1
    ),
    "return Flash",
    "return DDP(module)",
    "model.finish_gradient_synchronization()",
)
DDP = code("""
    import torch
    import torch.distributed as dist
    from torch import nn


    class DDP(nn.Module):
        def __init__(self, module: nn.Module):
            super().__init__()
            self.module = module
            self.handles = []
            for parameter in self.module.parameters():
                dist.broadcast(parameter.data, src=0)
                if parameter.requires_grad:
                    parameter.register_post_accumulate_grad_hook(self._reduce)

        def _reduce(self, parameter):
            parameter.grad /= dist.get_world_size()
            self.handles.append(dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM, async_op=True))

        def forward(self, *args, **kwargs):
            return self.module(*args, **kwargs)

        def finish_gradient_synchronization(self):
            for handle in self.handles:
                handle.wait()
            self.handles.clear()
""")
FLASH = code("""
    import math

    import torch


    class Flash(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, is_causal=False):
            scale = 1 / math.sqrt(q.shape[-1])
            out, logs = [], []
            for tile in q.split(16, dim=-2):
                scores = tile @ k.transpose(-1, -2) * scale
                top = scores.max(dim=-1, keepdim=True).values
                weights = torch.exp(scores - top)
                total = weights.sum(dim=-1, keepdim=True)
                out.append(weights @ v / total)
                logs.append((top + total.log()).squeeze(-1))
            ctx.save_for_backward(torch.cat(logs, dim=-1), q, k, v)
            return torch.cat(out, dim=-2)
""")
BENCHMARK = code("""
    import argparse
    import timeit
    from dataclasses import dataclass

    import torch


    @dataclass
    class BenchmarkConfig:
        batch_size: int = 4
        context_length: int = 128
        d_model: int = 768
        num_layers: int = 12
        num_heads: int = 12
        warmup: int = 5
        steps: int = 10
        device: str = "cuda" if torch.cuda.is_available() else "cpu"


    def parse_args() -> BenchmarkConfig:
        parser = argparse.ArgumentParser(description="Benchmark a model")
        parser.add_argument("--batch-size", type=int, default=4)
        parser.add_argument("--context-length", type=int, default=128)
        parser.add_argument("--d-model", type=int, default=768)
        parser.add_argument("--num-layers", type=int, default=12)
        parser.add_argument("--num-heads", type=int, default=12)
        parser.add_argument("--warmup", type=int, default=5)
        parser.add_argument("--steps", type=int, default=10)
        return BenchmarkConfig(**vars(parser.parse_args()))
""")
PUBLIC_TEST = code("""
    import pytest
    import torch

    from .adapters import get_flash_autograd_function_pytorch


    def reference(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ v


    def test_forward():
        q, k, v = (torch.randn(2, 32, 16) for _ in range(3))
        out = get_flash_autograd_function_pytorch().apply(q, k, v)
        torch.testing.assert_close(out, reference(q, k, v), rtol=1e-2, atol=1e-2)
""")
SYSTEMS = GuardedCourse(
    assignment="systems",
    files={
        "README.md": "# Systems\n",
        "pyproject.toml": '[project]\nname = "systems"\nversion = "1.0.4"\n',
        "systems/__init__.py": "",
        "tests/__init__.py": "",
        "tests/adapters.py": ADAPTERS,
        "tests/test_attention.py": PUBLIC_TEST,
        "basics/basics/model.py": "import torch\n\n\nclass Linear(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x @ self.weight.T\n",
        "basics/scripts/train.py": BENCHMARK.replace("Benchmark a model", "Train a model").replace(
            "BenchmarkConfig", "TrainConfig"
        ),
        "private/solutions/systems/ddp.py": DDP,
        "private/solutions/systems/flash.py": FLASH,
        "private/solutions/systems/benchmark.py": BENCHMARK,
        "private/solutions/tests/adapters.py": ADAPTERS_DONE,
    },
    answers=(DDP, FLASH),
    starters=("tests/adapters.py",),
    handed_in="student_repos",
)

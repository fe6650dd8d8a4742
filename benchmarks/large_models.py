"""Parity of two models of a billion weights each, in step on a GPU, beside their two forward passes; 1 if a promise is
broken.

python benchmarks/large_models.py [--layers 16]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

WIDTH, HIDDEN, HEADS, VOCABULARY = 2048, 8192, 32, 32_000
BATCH, LENGTH = 4, 2048
MAX_TIME, MAX_MEMORY = 3.0, 1.15
REPEATS = 3


class Attention(nn.Module):
    """Causal attention; `names` are those of its four projections."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names, self.scale = names, 1.0
        for name in names:
            self.add_module(name, nn.Linear(WIDTH, WIDTH, bias=False))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        heads = (getattr(self, name)(x).view(batch, length, HEADS, -1).transpose(1, 2) for name in self.names[:3])
        q, k, v = heads
        mixed = nn.functional.scaled_dot_product_attention(q * self.scale, k, v, is_causal=True)
        return getattr(self, self.names[3])(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class FeedForward(nn.Module):
    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        for name, sizes in zip(names, ((WIDTH, HIDDEN), (WIDTH, HIDDEN), (HIDDEN, WIDTH)), strict=True):
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x: Any) -> Any:
        gate, up, down = (getattr(self, name) for name in self.names)
        return down(nn.functional.silu(gate(x)) * up(x))


class Layer(nn.Module):
    def __init__(self, old: bool) -> None:
        super().__init__()
        self.old = old
        own = (
            ("input_norm", "self_attn", "post_norm", "mlp") if old else ("norm1", "attention", "norm2", "feed_forward")
        )
        projections = ("q_proj", "k_proj", "v_proj", "o_proj") if old else ("wq", "wk", "wv", "wo")
        parts = (nn.RMSNorm(WIDTH), Attention(projections), nn.RMSNorm(WIDTH))
        mlp = FeedForward(("gate_proj", "up_proj", "down_proj") if old else ("w1", "w3", "w2"))
        self.own = own
        for name, part in zip(own, (*parts, mlp), strict=True):
            self.add_module(name, part)

    def forward(self, x: Any) -> Any:
        norm1, attention, norm2, mlp = (getattr(self, name) for name in self.own)
        x = x + attention(norm1(x))
        return x + mlp(norm2(x))


def model(layers: int, *, old: bool) -> nn.Sequential:
    """A decoder in the style of one of two repositories."""
    made = [Layer(old) for _ in range(layers)]
    return nn.Sequential(
        nn.Embedding(VOCABULARY, WIDTH), *made, nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
    )


def seconds(action: Callable[[], object]) -> float:
    """Return the median time of an action after one that is not counted."""
    times = []
    for _ in range(REPEATS + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        action()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def peak(action: Callable[[], object]) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    action()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def main(layers: int) -> int:
    import goldsmith

    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {BATCH} x {LENGTH} tokens")
    broken = False
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        with torch.device("cuda"):
            reference = model(layers, old=True).to(dtype).eval()
            candidate = model(layers, old=False).to(dtype).eval()
            wrong = 2 * layers // 3
            tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
        count = sum(item.numel() for item in reference.parameters())

        @torch.no_grad()
        def forwards(one: nn.Module = reference, two: nn.Module = candidate, given: Any = tokens) -> None:
            one(given)
            two(given)

        def in_step(one: nn.Module = reference, two: nn.Module = candidate, given: Any = tokens) -> Any:
            return goldsmith.parity(one, two, given, in_step=True)

        found = in_step()
        times = seconds(forwards), seconds(in_step)
        memory = peak(forwards), peak(in_step)
        attention: Any = candidate.get_submodule(f"{1 + wrong}.attention")
        attention.scale = 1.02 if dtype == torch.float32 else 1.5
        bad = in_step()
        slower = seconds(in_step)
        name = f"{1 + wrong}.self_attn"
        attention.scale = 1.0
        norms: Any = reference.get_submodule(f"{1 + wrong}.input_norm"), candidate.get_submodule(f"{1 + wrong}.norm1")
        norms[0].eps, norms[1].eps = (1e-6, 1e-5) if dtype == torch.float32 else (1e-6, 0.05)
        doubtful = in_step()
        in_doubt = seconds(in_step), peak(in_step)
        print(
            f"{str(dtype).removeprefix('torch.')}, 2 x {count / 1e9:.2f} B weights, {len(found.modules)} modules each"
        )
        print(f"  two forward passes  {times[0]:.3f} s            {memory[0] / 2**30:.2f} GiB")
        print(f"  parity: {found.outcome:11} {times[1]:.3f} s  {times[1] / times[0]:.2f} x    ", end="")
        print(f"{memory[1] / 2**30:.2f} GiB  {memory[1] / memory[0]:.3f} x")
        print(
            f"  parity: {bad.outcome:11} {slower:.3f} s  {slower / times[0]:.2f} x    at {bad.first_divergence or '?'}"
        )
        print(f"  parity: {doubtful.outcome:11} {in_doubt[0]:.3f} s  {in_doubt[0] / times[0]:.2f} x    ", end="")
        print(f"{in_doubt[1] / 2**30:.2f} GiB  {in_doubt[1] / memory[0]:.3f} x  at {doubtful.first_divergence or '?'}")
        right = bool(found) and not bad and bad.first_divergence == name
        right &= not doubtful and doubtful.first_divergence == f"{1 + wrong}.input_norm"
        broken |= max(times[1], slower, in_doubt[0]) > MAX_TIME * times[0] or not right
        broken |= max(memory[1], in_doubt[1]) > MAX_MEMORY * memory[0]
        del reference, candidate, found, bad, doubtful, attention, norms, forwards, in_step
        torch.cuda.empty_cache()
    return int(broken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=16)
    sys.exit(main(parser.parse_args().layers))

"""Correct but different implementations of the bundled assignments: what no tolerance may reject.

Each is the solution with a part of it rewritten as another student might write it. They are made from the solution's
text, so that they cannot drift from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.courses.layout.layout import Course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.generate.options import Options
from goldsmith.generate.replay_once import replay
from goldsmith.gold.load import load_gold
from goldsmith.targets.target import Placement


@dataclass(frozen=True)
class Implementation:
    """Pairs of what the solution says and what is said instead; threads and environment it runs with."""

    changes: tuple[tuple[str, str], ...] = ()
    threads: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)

    def source(self, solution: str) -> str:
        for old, new in self.changes:
            if solution.count(old) != 1:
                raise ValueError(f"the solution does not say this exactly once: {old}")
            solution = solution.replace(old, new)
        return solution


NORM = "return x * torch.rsqrt(mean_square + self.eps) * self.weight"
SCORES = "scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)"
MASK = 'scores = scores.masked_fill(future, float("-inf"))'
ATTENDED = "attended = self.dropout(scores.softmax(dim=-1)) @ v"
LOSS = "return F.cross_entropy(predicted, tokens[:, 1:].reshape(-1))"
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)"
ROTATED = "return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)"

MACHINES = {
    "two threads": Implementation(threads=2),
    "plain instructions": Implementation(environment={"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}),
}

BACKBONES: dict[str, Implementation] = {
    "fused attention (SDPA)": Implementation(
        (
            (
                ATTENDED,
                "rate = self.dropout.p if self.training else 0.0\n"
                "        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=rate)",
            ),
        )
    ),
    "attention by einsum": Implementation(
        (
            (SCORES, "scores = torch.einsum('bhid,bhjd->bhij', q, k) * self.head_dim**-0.5"),
            (ATTENDED, "attended = torch.einsum('bhij,bhjd->bhid', self.dropout(scores.softmax(dim=-1)), v)"),
        )
    ),
    "queries scaled first": Implementation(
        ((SCORES, "scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)"),)
    ),
    "softmax by hand": Implementation(
        (
            (
                ATTENDED,
                "weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()\n"
                "        attended = (self.dropout(weights) @ v) / weights.sum(dim=-1, keepdim=True)",
            ),
        )
    ),
    "mask of -1e9": Implementation(((MASK, "scores = scores.masked_fill(future, -1e9)"),)),
    "split projections": Implementation(
        (
            (
                "for part in self.qkv_proj(x).chunk(3, dim=-1)",
                "for part in (\n"
                "                F.linear(x, weight, bias)\n"
                "                for weight, bias in zip(self.qkv_proj.weight.chunk(3), self.qkv_proj.bias.chunk(3))\n"
                "            )",
            ),
        )
    ),
    "gate and up in one product": Implementation(
        (
            (
                "return self.dropout(self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))",
                "weight = torch.cat([self.gate_proj.weight, self.up_proj.weight])\n"
                "        bias = torch.cat([self.gate_proj.bias, self.up_proj.bias])\n"
                "        gate, up = F.linear(x, weight, bias).chunk(2, dim=-1)\n"
                "        return self.dropout(self.down_proj(gate * torch.sigmoid(gate) * up))",
            ),
        )
    ),
    "norm by sqrt and division": Implementation(
        ((NORM, "return x / torch.sqrt(mean_square + self.eps) * self.weight"),)
    ),
    "norm in float64 inside": Implementation(
        (
            (
                NORM,
                "wide = x.double()\n"
                "        scale = (wide.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt()\n"
                "        return (wide * scale).to(x.dtype) * self.weight",
            ),
        )
    ),
    "rotation by complex numbers": Implementation(
        (
            (
                ROTATED,
                "turned = torch.complex(first, second) * torch.complex(cos, sin)\n"
                "        return torch.cat([turned.real, turned.imag], dim=-1)",
            ),
        )
    ),
    "one sequence at a time": Implementation(
        (
            (
                "        x = self.token_embedding(tokens)\n        for block",
                "        if len(tokens) > 1:\n"
                "            return torch.cat([self(row) for row in tokens.split(1)])\n"
                "        x = self.token_embedding(tokens)\n        for block",
            ),
        )
    ),
    "loss by log-softmax": Implementation(
        (
            (
                LOSS,
                "chosen = predicted.log_softmax(dim=-1).gather(1, tokens[:, 1:].reshape(-1, 1))\n"
                "    return -chosen.sum() / chosen.numel()",
            ),
        )
    ),
    "clipping by hand": Implementation(
        (
            (
                CLIP,
                "norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()\n"
                "        for p in model.parameters():\n"
                "            p.grad.mul_(torch.clamp(max_grad_norm / (norm + 1e-6), max=1.0))",
            ),
        )
    ),
    **MACHINES,
}

POLICIES: dict[str, Implementation] = {
    "frequencies by power": Implementation(
        (
            (
                "torch.exp(math.log(1000.0) * torch.arange(half, device=t.device) / (half - 1))",
                "1000.0 ** (torch.arange(half, device=t.device) / (half - 1))",
            ),
        )
    ),
    "angles from logarithms": Implementation(
        (
            (
                "angles = t.unsqueeze(-1) * frequencies.to(t.dtype)",
                "angles = (t.clamp_min(1e-30).log().unsqueeze(-1) + frequencies.log()).exp().to(t.dtype)",
            ),
        )
    ),
    "silu by hand": Implementation(
        (("x = F.silu(self.fc_in(x))", "x = self.fc_in(x)\n        x = x * torch.sigmoid(x)"),)
    ),
    "loss by hand": Implementation(
        (
            (
                "return F.mse_loss(self.field(observations, noisy, t), target - noise)",
                "return (self.field(observations, noisy, t) - (target - noise)).square().mean()",
            ),
        )
    ),
    "line by lerp": Implementation(
        (("noisy = (1 - at) * noise + at * target", "noisy = torch.lerp(noise, target, at)"),)
    ),
    "first layer in three products": Implementation(
        (
            (
                "x = F.silu(self.fc_in(x))",
                "sizes = [observations.shape[-1], noisy[0].numel(), self.time_dim]\n"
                "        pairs = zip(x.split(sizes, dim=-1), self.fc_in.weight.split(sizes, dim=-1))\n"
                "        x = F.silu(sum(part @ weight.mT for part, weight in pairs) + self.fc_in.bias)",
            ),
        )
    ),
    **MACHINES,
}

CORRECT = {"scratch-1": BACKBONES, "scratch-3": POLICIES}

COMPILED = Implementation(
    (
        (
            "        self.apply(self._init_weights)\n",
            "        self.apply(self._init_weights)\n        self.compile()\n",
        ),
    ),
    environment={"TORCHDYNAMO_DISABLE": "0"},
)


def replayed(course: Course, name: str, implementation: Implementation, folder: Path) -> dict[str, dict[str, Any]]:
    """What the implementation of assignment `name` records on gold's inputs and weights, by case."""
    assignment = course.assignment(name)
    (solution,) = assignment.solution.glob("*_solution.py")
    source = folder / solution.name
    source.write_text(implementation.source(solution.read_text()))
    placed = [Placement(source, Path(solution.name.replace("_solution", "")))]
    options = Options(seed=course.config.seed, threads=implementation.threads, timeout=course.config.timeout)
    gold = load_gold(assignment.gold)
    return replay(resolve(assignment), placed, options, gold, environment=implementation.environment)

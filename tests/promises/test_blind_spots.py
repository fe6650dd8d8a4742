"""What one usual call does not show: the bundled recipes see each of these mistakes, and fail no right way to write it.

Each row is the solution with a few words replaced, handed in as a submission.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from goldsmith.check.check import check
from goldsmith.check.request import Request
from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.process.fork_client import ForkClient
from support.course import copy_of_example

SOLUTIONS = {"scratch-1": "backbone", "scratch-2": "vision", "scratch-3": "policy"}
SOFTMAX = "scores.softmax(dim=-1)"
CROSS_ENTROPY = "F.cross_entropy(predicted, tokens[:, 1:].reshape(-1))"
EPOCH = "total, count = total + loss.item(), count + 1"
DROPOUT = "self.dropout(self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))"
WHOLE = "self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))"
GELU = "F.gelu(self.fc_1(image_tokens))"
FREEZE = "parameter.requires_grad = False"
SCORES = "(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5)"
NOISE = "noise[part], t[part])"
STEP = "x = x + self.field(observations, x, t) / steps"
FITTED = "self.mean.copy_(flat.mean(dim=0))"

WRONG = [
    ("scratch-1", "mean_square + self.eps", "mean_square + 1e-6", "eps is not the one that was asked for"),
    (
        "scratch-1",
        "cos, sin = self.cos[:length]",
        "x = x.squeeze(0)\n        cos, sin = self.cos[:length]",
        "one is lost",
    ),
    ("scratch-1", "triu(diagonal=1)", "triu(diagonal=1) & (torch.arange(length) < 16)", "sees all beyond 16"),
    ("scratch-1", SOFTMAX, "(scores.exp() / scores.exp().sum(dim=-1, keepdim=True))", "overflows"),
    ("scratch-1", f"self.dropout({SOFTMAX}) @ v", f"self.dropout({SOFTMAX} @ v)", "drops values, not weights"),
    ("scratch-1", DROPOUT, f"F.dropout({WHOLE}, 1 - self.dropout.p, self.training)", "drops what should be kept"),
    (
        "scratch-1",
        DROPOUT,
        f"{WHOLE} * (torch.rand_like(x) >= self.dropout.p if self.training else 1)",
        "does not scale what is kept",
    ),
    ("scratch-1", "x = x + self.attention(", "x += self.attention(", "overwrites its input"),
    ("scratch-1", CROSS_ENTROPY, "F.nll_loss(predicted.softmax(-1).log(), tokens[:, 1:].reshape(-1))", "log of zero"),
    (
        "scratch-1",
        EPOCH,
        "total, count = total + loss.item() * len(tokens), count + len(tokens)",
        "larger batches count more",
    ),
    (
        "scratch-1",
        "    return tokens\n",
        "    return tokens.squeeze(0)\n",
        "a single prompt comes back without its axis",
    ),
    (
        "scratch-2",
        f"{SCORES}.softmax(dim=-1)",
        f"{SCORES}.exp()\n        weights = weights / weights.sum(-1, True)",
        "overflows",
    ),
    ("scratch-2", FREEZE, "parameter.requires_grad = parameter.dim() > 1", "freezes biases only"),
    ("scratch-2", "text_embeddings], dim=1)", "text_embeddings], dim=1).squeeze(0)", "one is lost"),
    ("scratch-2", GELU, 'F.gelu(self.fc_1(image_tokens), approximate="tanh")', "the other GELU"),
    ("scratch-3", NOISE, "noise[order[part]], t[order[part]])", "orders noise a second time"),
    ("scratch-3", "losses.append(total / batches)", "losses.append(total * batch_size / len(order))", "weighs batches"),
    ("scratch-3", "actions * self.std + self.mean", "(actions * self.std + self.mean).clamp(-1, 1)", "clips"),
    ("scratch-3", "self.mean) / self.std", "self.mean) / (self.std + 1e-6)", "an eps in the spread"),
    ("scratch-3", "    @torch.no_grad()\n", "", "actions require gradients"),
    ("scratch-3", STEP, "x += self.field(observations, x, t) / steps", "overwrites the noise"),
    ("scratch-3", FITTED, "self.mean.lerp_(flat.mean(dim=0), 1.0 if not self.mean.any() else 0.1)", "remembers"),
]
RIGHT = [
    (
        "scratch-1",
        f"self.dropout({SOFTMAX}) @ v",
        "F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout.p if self.training else 0.0)",
        "attention and its dropout by torch",
    ),
    ("scratch-1", DROPOUT, f"F.dropout({WHOLE}, self.dropout.p, self.training)", "dropout by function"),
    (
        "scratch-1",
        DROPOUT,
        f"{WHOLE} * ((torch.rand(x.shape) >= self.dropout.p) / (1 - self.dropout.p) if self.training and "
        "self.dropout.p < 1 else float(not self.training))",
        "dropout by hand",
    ),
    ("scratch-1", "return total / count", "return __import__('numpy').mean([total / count])", "a float of NumPy's"),
    ("scratch-1", "    return total / count", "    model.eval()\n    return total / count", "restores the mode"),
    (
        "scratch-1",
        "self.num_heads = num_heads",
        'self.register_buffer("m", torch.ones(3))\n        self.num_heads = num_heads',
        "",
    ),
    ("scratch-2", FREEZE, f"{FREEZE}\n        self.eval()", "freezing sets the mode, too"),
    ("scratch-2", "with torch.no_grad():", "with torch.enable_grad():", "gradients could reach the images"),
    (
        "scratch-2",
        "        patches = self.patches(images)",
        "        patches = self.patches(images).detach()",
        "no gradients",
    ),
    ("scratch-3", FITTED, "self.mean = flat.mean(dim=0)", "another tensor in the buffer's place"),
    (
        "scratch-3",
        "losses.append(total / batches)",
        "losses.append(__import__('numpy').mean([total / batches]))",
        "NumPy",
    ),
    ("scratch-3", "    policy.train()\n", "", "no mode is set where none matters"),
]
QUICK = {"overwrites its input", "does not scale what is kept", "dropout by hand"}
ROWS = [(*row, "differs") for row in WRONG] + [(*row, "agrees") for row in RIGHT]


@pytest.fixture(scope="module")
def warm(warm_with_torch: ForkClient) -> ForkClient:
    return warm_with_torch


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return find_course(copy_of_example(tmp_path_factory.mktemp("blind") / "course").root)


@pytest.mark.parametrize(
    ("name", "old", "new", "outcome"),
    [
        pytest.param(
            *(name, old, new, outcome),
            id=f"{name}: {about}, {outcome}",
            marks=() if about in QUICK else pytest.mark.long,
        )
        for name, old, new, about, outcome in ROWS
    ],
)
def test_it_is_seen(
    name: str, old: str, new: str, outcome: str, course: Course, warm: ForkClient, tmp_path: Path
) -> None:
    assignment = course.assignment(name)
    (solution,) = (course.root / "private/solutions" / name).glob("*.py")
    code = solution.read_text()
    assert code.count(old) == 1
    (tmp_path / f"{SOLUTIONS[name]}.py").write_text(code.replace(old, new))
    with open_submission(assignment, str(tmp_path)) as submission:
        verdict = check(replace(resolve(assignment), timeout=300.0), submission, Request(fork_server=warm))
    against = [(item.name, item.outcome, item.reason) for item in verdict.cases if item.outcome != "agrees"]
    assert verdict.outcome == outcome, against

"""A brief report leads to the line: where the first wrong module's code is, what goes in and out, where it differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import fork_cli

MODEL = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(24, 24) for _ in range(4))

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (4, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
        scores = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.o((scores @ v).transpose(1, 2).flatten(2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention, self.out = nn.LayerNorm(24), Attention(), nn.Linear(24, 7)

    def forward(self, x):
        return self.out(x + self.attention(self.norm(x)))
"""
LINE = 1 + MODEL.splitlines().index("    def forward(self, x):")


def brief(folder: Path, old: str = "", new: str = "") -> dict[str, Any]:
    (folder / "old.py").write_text(MODEL)
    (folder / "new.py").write_text(MODEL.replace(old, new) if old else MODEL)
    arguments = ["parity", "old.py:Net", "new.py:Net", "--input", "torch.randn(2, 5, 24)", "--json", "--brief"]
    _, out, _ = fork_cli.run(arguments, folder)
    assert len(out) < 2_500
    found: dict[str, Any] = json.loads(out)["candidates"][0]
    return found


def test_of_a_wrong_one_it_has_file_line_shapes_and_where(tmp_path: Path) -> None:
    found = brief(tmp_path, "return self.o((scores @ v).transpose(1, 2).flatten(2))", "return self.o(x)")
    first = found["first"]
    assert (first["name"], first["kind"], first["how"], first["place"]) == (
        "attention",
        "Attention",
        "seen",
        f"new.py:{LINE}",
    )
    assert first["inputs"] == first["their_inputs"] == first["outputs"] == first["their_outputs"] == ["(2, 5, 24)"]
    assert first["where"] == "everywhere"
    assert first["relative"] > 0.1


@pytest.mark.parametrize("weight", ["o", "v"])
def test_weights_that_it_does_not_use_are_named(tmp_path: Path, weight: str) -> None:
    edits = {
        "o": ("self.o((scores @ v)", "((scores @ v)"),
        "v": ("(self.q, self.k, self.v)", "(self.q, self.k, self.k)"),
    }
    found = brief(tmp_path, *edits[weight])
    assert found["first"]["unused"] == [f"attention.{weight}.weight", f"attention.{weight}.bias"]


def test_where_in_the_output_it_differs_is_told(tmp_path: Path) -> None:
    last = "y = self.o((scores @ v).transpose(1, 2).flatten(2)); y[..., -1] += 1; return y"
    found = brief(tmp_path, "return self.o((scores @ v).transpose(1, 2).flatten(2))", last)
    assert "last" in found["first"]["where"]


def test_of_a_right_one_it_has_nothing_but_the_outcome(tmp_path: Path) -> None:
    assert brief(tmp_path) == {"name": "new.py:Net", "reference": "old.py:Net", "outcome": "agrees"}


def test_brief_without_json_is_refused(tmp_path: Path) -> None:
    code, _, error = fork_cli.run(["parity", "a.py:A", "b.py:B", "--input", "1", "--brief"], tmp_path)
    assert code == 2
    assert "--brief is for --json" in error

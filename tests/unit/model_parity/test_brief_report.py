"""A brief report leads to the line: where the first wrong module's code is, what goes in and out, where it differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.model_parity.brief import in_brief
from goldsmith.model_parity.result import CarriedWeights, FirstWrong, ModuleParity, ParityReport
from goldsmith.render.json_output import encode_report
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
    assert (first["reference"], first["reference_place"]) == ("attention", f"old.py:{LINE}")
    assert "attention (Attention) is the first to go wrong" in found["reason"]
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


def test_of_a_module_of_torch_it_leads_to_where_it_is_made_and_says_how_it_was_made_otherwise(tmp_path: Path) -> None:
    first = brief(tmp_path, "nn.LayerNorm(24)", "nn.LayerNorm(24, eps=0.01)")["first"]
    line = MODEL.splitlines().index("class Net(nn.Module):") + 2
    assert (first["name"], first["kind"], first["place"]) == ("norm", "LayerNorm", f"new.py:{line}")
    assert (first["settings"], first["their_settings"]) == ("eps=1e-05", "eps=0.01")


def test_of_what_could_not_be_judged_it_says_why(tmp_path: Path) -> None:
    edit = "return self.o(super().__call__(x) if False else inner(self, scores @ v))"
    new = MODEL.replace("return self.o((scores @ v).transpose(1, 2).flatten(2))", edit)
    new = new.replace(
        "class Attention", "def inner(self, x):\n    return x.transpose(1, 2).flatten(2) * 1.5\n\n\nclass Attention"
    )
    new = new.replace("def forward(self, x):\n        q, k", "def forward(self, x, *, extra):\n        q, k", 1)
    new = new.replace("self.attention(self.norm(x))", "self.attention(self.norm(x) * 1.1, extra=object())")
    found = brief(tmp_path, MODEL, new)
    assert "could not run alone on the reference's inputs" in found["unknown"]["attention (Attention)"]


def test_it_is_small_whatever_there_is_to_say() -> None:
    long = "a sentence that goes on and on " * 40
    names = [f"layers.{number}.{'inner.' * 60}norm" for number in range(200)]
    first = FirstWrong(
        name=names[0],
        kind=long,
        how="inside",
        place=f"/home/{long}/model.py:7",
        reference=names[0],
        reference_place=f"/home/{long}/old.py:7",
        settings=long,
        their_settings=long,
        inputs=(long,) * 50,
        their_inputs=(long,) * 50,
        outputs=(long,) * 50,
        their_outputs=(long,) * 50,
        where=long,
        why=long,
        unused=tuple(names),
    )
    report = ParityReport(
        name=long,
        reference=long,
        outcome="differs",
        kind="overwrites",
        reason=long,
        first=first,
        first_name=names[0],
        cases=(CaseVerdict(name="forward", title="", outcome="differs"),),
        modules=tuple(ModuleParity(name=name, kind="Norm", role="unknown", why=long) for name in names),
        weights=CarriedWeights(unplaced=dict.fromkeys(names, (3, 4))),
        adapter_lines=tuple(names),
        notes=(long,) * 30,
    )
    found = in_brief(report)
    assert found.first is not None
    assert found.first.place.endswith("model.py:7")
    assert len(encode_report("parity", "candidates", [found], ok=False)) < 2_500
    assert len(encode_report("parity", "candidates", [found], ok=False).encode()) < 2_600


def test_what_the_reader_has_said_is_not_repeated() -> None:
    notes = ("weights placed by the adapter: norm as pre", "the reference changes its input 0 in place")
    report = ParityReport(name="a", reference="b", outcome="agrees", notes=notes, adapter_lines=("rename('a', 'b')",))
    assert (in_brief(report).notes, in_brief(report).adapter_lines) == (notes[1:], ())


def test_brief_without_json_is_refused(tmp_path: Path) -> None:
    code, _, error = fork_cli.run(["parity", "a.py:A", "b.py:B", "--input", "1", "--brief"], tmp_path)
    assert code == 2
    assert "--brief is for --json" in error

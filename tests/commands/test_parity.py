"""`goldsmith parity`: two files, each imported in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.course import COMMAND, Run

pytestmark = pytest.mark.torch
OLD = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.norm = nn.LayerNorm(dim, eps=eps)
            self.up = nn.Linear(dim, 2 * dim)
            self.down = nn.Linear(2 * dim, dim)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(self.norm(x))))
"""
NEW = OLD.replace("self.up", "self.fc1").replace("self.down", "self.fc2").replace("eps=1e-6", "eps=1e-5")


def write(folder: Path, **files: str) -> None:
    import textwrap

    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def run(folder: Path, *arguments: str) -> Run:
    done = subprocess.run(
        [*COMMAND, "parity", *arguments], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return Run(done.returncode, done.stdout, done.stderr)


def candidate(found: Run) -> dict[str, Any]:
    (item,) = found.json["candidates"]
    return dict(item)


def test_two_modules_of_the_same_name_are_compared_and_the_wrong_one_is_named(tmp_path: Path) -> None:
    write(tmp_path, old__model=OLD, new__model=NEW)
    common = ("old/model.py:Block", "new/model.py:Block", "--init", "dim=12", "--input", "torch.randn(2, 5, 12)")
    wrong = run(tmp_path, *common)
    assert wrong.code == 1, wrong.err
    assert "norm (LayerNorm) is the first to go wrong" in wrong.out
    assert "fc1 (Linear)" in wrong.out
    right = run(tmp_path, *common, "--init-candidate", "dim=12, eps=1e-6", "--input", "torch.randn(1, 3, 12)", "--json")
    assert right.code == 0, right.out
    assert right.json["ok"] is True
    assert [case["name"] for case in candidate(right)["cases"]] == [
        "inputs 1: forward",
        "inputs 1: gradients",
        "inputs 2: forward",
        "inputs 2: gradients",
    ]


def test_a_setup_file_says_how_both_are_built_and_what_they_are_called_with(tmp_path: Path) -> None:
    write(
        tmp_path,
        old__model=OLD,
        setup="""
            import torch

            def reference():
                from old.model import Block
                return Block(8)

            def candidate():
                from old.model import Block
                return Block(8)

            def inputs():
                return {"x": torch.randn(2, 3, 8)}

            def loss(output):
                return output.square().mean()
        """,
    )
    found = run(tmp_path, "--with", "setup.py", "--steps", "2", "--json")
    assert found.code == 0, found.out + found.err
    assert [case["name"] for case in candidate(found)["cases"]] == ["forward", "gradients", "2 steps"]
    assert any(leaf["path"] == "loss" for leaf in candidate(found)["cases"][0]["natural"]) is False


def test_functions_of_numpy_need_no_torch(tmp_path: Path) -> None:
    write(tmp_path, one="def mean(x):\n    return x.mean(-1)\n", two="def mean(x):\n    return x.sum(-1) / len(x)\n")
    found = run(tmp_path, "one:mean", "two:mean", "--input", "np.ones((3, 4)) * np.arange(4.0)", "--json")
    assert found.code == 1, found.err
    assert candidate(found)["outcome"] == "differs"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["old.py:Block", "good.py:f", "--input", "1"], 2, "old.py:Block: there is no such file"),
        (["good.py:g", "good.py:f", "--input", "1"], 2, "there is no g in it; give one that is there, such as"),
        (["good", "good.py:f", "--input", "1"], 2, "good: it names no model; give good:Name"),
        (["no.such:f", "good.py:f", "--input", "1"], 2, "there is no module no"),
        (["raises.py:f", "good.py:f", "--input", "1"], 3, "cannot be imported: ValueError: not today"),
        (["needs.py:f", "good.py:f", "--input", "1"], 3, "no_such_package_at_all is not installed"),
        (["good.py:f", "good.py:f", "--input", "1 +"], 2, "is not an expression"),
        (["good.py:f", "good.py:f", "--input", "missing"], 3, "--input 'missing' fails: NameError"),
        (["good.py:number", "good.py:f", "--input", "1"], 2, "it is int, which cannot be called"),
        (["dies.py:f", "good.py:f", "--input", "1"], 3, "ended with exit code 5"),
        (["good.py:f", "--input", "1"], 2, "TARGET is missing"),
        (["good.py:f", "good.py:f"], 2, "--input is missing"),
        (["good.py:f", "good.py:f", "--input", "1", "--dtype", "int8"], 2, "--dtype is int8"),
        (["good.py:f", "good.py:f", "--input", "1", "--adapter", "no.py"], 2, "the adapter no.py cannot be used"),
        (["--with", "good.py"], 2, "it defines no reference()"),
        (["good.py:f", "good.py:text", "--input", "np.ones(3)"], 3, "returns nothing that can be compared"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    write(
        tmp_path,
        good="number = 3\ndef f(x):\n    return x\ndef text(x):\n    return None\n",
        raises='raise ValueError("not today")\n',
        needs="import no_such_package_at_all\n",
        dies="import os\nos._exit(5)\n",
    )
    found = run(tmp_path, *arguments)
    assert said in " ".join((found.out + found.err).split())
    assert found.code == code
    assert "Traceback" not in found.err


def test_what_a_model_prints_does_not_disturb_the_json(tmp_path: Path) -> None:
    write(tmp_path, loud='print("importing")\ndef f(x):\n    print("called")\n    return x * 2\n')
    found = run(tmp_path, "loud.py:f", "loud.py:f", "--input", "np.arange(3.0)", "--json")
    assert json.loads(found.out)["ok"] is True

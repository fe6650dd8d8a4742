"""The page on porting to JAX shows what goldsmith does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from support.doc_pages import act_out

PAGE = Path(__file__).parents[2] / "docs/how-to/jax.md"
IN_TORCH = """
    from torch import nn

    def net():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""
IN_JAX = """
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self):
            self.conv = nnx.Conv(3, 4, (3, 3), padding="VALID", rngs=nnx.Rngs(0))

        def __call__(self, x):
            return nnx.relu(self.conv(x)).mean((1, 2))
"""


def test_the_port_on_the_page_differs_as_it_says_and_then_agrees(tmp_path: Path) -> None:
    assert len(act_out(PAGE, tmp_path)) == 2


def test_images_are_turned_as_the_page_says(tmp_path: Path) -> None:
    (own,) = re.findall(r"--input-candidate '([^']+)'", PAGE.read_text(encoding="utf-8"))
    (tmp_path / "old.py").write_text(dedent(IN_TORCH), encoding="utf-8")
    (tmp_path / "new.py").write_text(dedent(IN_JAX), encoding="utf-8")
    options = ["--init", "", "--input", "torch.randn(2, 3, 8, 8)", "--input-candidate", own]
    command = [sys.executable, "-c", "from goldsmith.cli import run; run()", "parity", "old.py:net", "new.py:Net"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

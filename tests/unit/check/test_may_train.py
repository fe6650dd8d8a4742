"""Optimisers of torch take as long to import as torch itself: a check imports them only where they may be needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from goldsmith.check.check_context import may_train
from goldsmith.targets.target import Placement

TRAINS = "optimiser = torch.optim.SGD(model.parameters(), lr=0.1)\n"


@pytest.mark.parametrize("where", ["", "recipe", "submission", "data"])
def test_optimisers_are_needed_if_the_recipe_or_what_was_submitted_names_them(tmp_path: Path, where: str) -> None:
    files = {"recipe": tmp_path / "recipe.py", "submission": tmp_path / "model.py", "data": tmp_path / "weights.pt"}
    for name, file in files.items():
        file.write_text(TRAINS if name == where else "import torch\n")
    placed = [Placement(files[name], Path(files[name].name)) for name in ("submission", "data")]
    assert may_train(files["recipe"], placed) == (where in ("recipe", "submission"))


@pytest.mark.parametrize("optimisers", [True, False])
def test_a_process_that_needs_no_optimisers_imports_no_compiler_for_them(optimisers: bool) -> None:
    program = (
        "import sys; from goldsmith.frameworks.framework import framework\n"
        f"framework('torch').preload(optimisers={optimisers})\n"
        f"assert ('torch._dynamo' in sys.modules) == {optimisers}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

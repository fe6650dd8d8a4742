"""Kernels in the form of public benchmarks, right and wrong: a folder for each problem, a file for each solution.

`kernels.toml` says what is to be said of each.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True)
class Kernel:
    """A solution. `right_in` are the dtypes in which it is right; a wrong one differs in the comparison `by`, if that
    is said. `needs` is what a machine must have to run it."""

    problem: str
    name: str
    right_in: tuple[str, ...]
    by: str = ""
    needs: str = ""

    @property
    def files(self) -> tuple[Path, Path]:
        folder = FOLDER / self.problem
        return folder / "problem.py", folder / f"{self.name}.py"

    def outcome(self, dtype: str) -> str:
        return "agrees" if dtype in self.right_in else "differs"


def kernels() -> list[Kernel]:
    """Return all, in the order in which they are listed."""
    listed = tomllib.loads((FOLDER / "kernels.toml").read_text())
    found = [
        Kernel(problem, name, tuple(facts.pop("right_in", ())), **facts)
        for problem, solutions in listed.items()
        for name, facts in solutions.items()
    ]
    files = {item.files[1] for item in found}
    assert files == {file for file in FOLDER.glob("*/*.py") if file.name != "problem.py"}
    return found

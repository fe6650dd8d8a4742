"""In which order cases are tried on a mutant. Which of them sees it first is in the report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from goldsmith.mutants.solution_baseline import SolutionBaseline
from goldsmith.runs.run import CaseRuns, Run, RunFacts

SIZES = {
    "training": (("fit", "loss", "step"), 9),
    "whole": (("loss", "step"), 4),
    "again": (("loss",), 2),
    "part": (("loss",), 1),
}


@pytest.mark.parametrize("slowest_first", [False, True])
def test_it_is_by_size_however_long_they_took(slowest_first: bool) -> None:
    entries = {name: SimpleNamespace(runs=runs, calls=calls) for name, (runs, calls) in SIZES.items()}
    seconds = dict(zip(sorted(SIZES, reverse=slowest_first), range(len(SIZES)), strict=True))
    stage: Any = SimpleNamespace(golds={name: SimpleNamespace(entry=entry) for name, entry in entries.items()})
    replays: Any = {name: CaseRuns({"plain": Run(RunFacts(seconds=float(taken)))}) for name, taken in seconds.items()}
    mutant: Any = SimpleNamespace(file=Path("ops.py"))
    baseline = SolutionBaseline(stage, replays, dict.fromkeys(SIZES), layouts={"again": ("fused",)})
    assert baseline.cases_of(mutant) == ["part", "whole", "training", "again"]

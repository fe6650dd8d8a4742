"""Every condition that a mutant is run under says why no case sees the mutant, and what would show it."""

from __future__ import annotations

from goldsmith.mutants.equivalence import ADVICE, WHY
from goldsmith.runs.conditions import PERTURBATIONS


def test_no_condition_is_without_words() -> None:
    assert ADVICE.keys() == WHY.keys() == set(PERTURBATIONS)

"""How sharp gold is: the internal tests on solution and starter, and mutants of the solution beside the gold.

Here live the mutation operators, the mutants they make, their trial, and the score. What a mutant's run is worth is
decided by `checking`, as for any submission.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.doors import late

if TYPE_CHECKING:
    from goldsmith.rigor.findings import (
        COULD_NOT_RUN,
        CRASHED,
        EQUIVALENT,
        KILLED,
        NOT_TOLD_APART,
        OUTCOMES,
        SURVIVED,
        Beside,
        Finding,
        Rigor,
    )
    from goldsmith.rigor.mutants import Mutant
    from goldsmith.rigor.run import Wanted, having, measure, mutants_for

__all__ = [
    "COULD_NOT_RUN",
    "CRASHED",
    "EQUIVALENT",
    "KILLED",
    "NOT_TOLD_APART",
    "OUTCOMES",
    "SURVIVED",
    "Beside",
    "Finding",
    "Mutant",
    "Rigor",
    "Wanted",
    "having",
    "measure",
    "mutants_for",
]

_ROOMS = {"Mutant": "mutants", "Wanted": "run", "having": "run", "measure": "run", "mutants_for": "run"}
__getattr__ = late("goldsmith.rigor", {name: f"goldsmith.rigor.{_ROOMS.get(name, 'findings')}" for name in __all__})

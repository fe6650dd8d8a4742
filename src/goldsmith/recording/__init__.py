"""Recording: the recipe's API, seeding, traces, and the child process that runs a recipe.

Code of the course is only ever imported in the child. What the gold must look like is decided in `gold`.
"""

from goldsmith.recording.cases import Case
from goldsmith.recording.entry import main
from goldsmith.recording.launch import Ending, Watcher, run_side_by_side
from goldsmith.recording.machine import Fact, examine
from goldsmith.recording.misuse import RecipeMisuse
from goldsmith.recording.protocol import (
    GOLD,
    NO_RESULT,
    NOTHING,
    Built,
    Event,
    Failure,
    Frame,
    Job,
    KeptCase,
    Proposal,
    Result,
    Trial,
    TrialFailure,
)
from goldsmith.recording.registry import case, checkpoint
from goldsmith.recording.seeding import seed_everything

__all__ = [
    "GOLD",
    "NOTHING",
    "NO_RESULT",
    "Built",
    "Case",
    "Ending",
    "Event",
    "Fact",
    "Failure",
    "Frame",
    "Job",
    "KeptCase",
    "Proposal",
    "RecipeMisuse",
    "Result",
    "Trial",
    "TrialFailure",
    "Watcher",
    "case",
    "checkpoint",
    "examine",
    "main",
    "run_side_by_side",
    "seed_everything",
]

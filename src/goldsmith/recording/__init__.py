"""Recording: the recipe's API, seeding, traces, and the child process that runs a recipe.

Code of the course is only ever imported in the child. What the gold must look like is decided in `gold`.
"""

from goldsmith.recording.attempts import entries_in
from goldsmith.recording.call_gradients import projections
from goldsmith.recording.cases import Case
from goldsmith.recording.clocks import Allowance
from goldsmith.recording.conversation import Conversation
from goldsmith.recording.entry import main
from goldsmith.recording.forms import TENSOR
from goldsmith.recording.launch import Ending, Watcher, run_side_by_side, settled_environment
from goldsmith.recording.leavings import UntrustedFolder
from goldsmith.recording.machine import Fact, examine, processors
from goldsmith.recording.misuse import RecipeMisuse
from goldsmith.recording.protocol import (
    ALONE,
    CONDITIONS,
    GOLD,
    NATURAL,
    NO_RESULT,
    NOT_CONFINED,
    NOTHING,
    Ask,
    Attempt,
    Built,
    Condition,
    DraftPart,
    Draws,
    Event,
    Failure,
    Frame,
    Isolated,
    Job,
    KeptCase,
    Limits,
    Proposal,
    Result,
    RunName,
    Trial,
    TrialFailure,
)
from goldsmith.recording.registry import case, checkpoint
from goldsmith.recording.rules import Adapter, BadRule, read_adapter
from goldsmith.recording.seeding import seed_everything
from goldsmith.recording.warm import Warm, warm_process

__all__ = [
    "ALONE",
    "CONDITIONS",
    "GOLD",
    "NATURAL",
    "NOTHING",
    "NOT_CONFINED",
    "NO_RESULT",
    "TENSOR",
    "Adapter",
    "Allowance",
    "Ask",
    "Attempt",
    "BadRule",
    "Built",
    "Case",
    "Condition",
    "Conversation",
    "DraftPart",
    "Draws",
    "Ending",
    "Event",
    "Fact",
    "Failure",
    "Frame",
    "Isolated",
    "Job",
    "KeptCase",
    "Limits",
    "Proposal",
    "RecipeMisuse",
    "Result",
    "RunName",
    "Trial",
    "TrialFailure",
    "UntrustedFolder",
    "Warm",
    "Watcher",
    "case",
    "checkpoint",
    "entries_in",
    "examine",
    "main",
    "processors",
    "projections",
    "read_adapter",
    "run_side_by_side",
    "seed_everything",
    "settled_environment",
    "warm_process",
]

"""Generation: the nine steps from a solution to published gold, and whether gold is still fresh.

Parses no arguments and prints nothing: `cli` does the one, `report` the other.
"""

from goldsmith.generation.freshness import Freshness, freshness
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import MadeFile, Outcome, Trouble
from goldsmith.generation.planning import KINDS
from goldsmith.generation.progress import STEPS, Progress, Silent
from goldsmith.generation.steps import generate

__all__ = [
    "KINDS",
    "STEPS",
    "Freshness",
    "MadeFile",
    "Options",
    "Outcome",
    "Progress",
    "Silent",
    "Trouble",
    "freshness",
    "generate",
]

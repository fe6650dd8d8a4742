"""Generation: the nine steps from a solution to published gold, and whether gold is still fresh.

Parses no arguments and prints nothing: `cli` does the one, `report` the other.
"""

from goldsmith.generation.attribution import Attribution, TensorCause
from goldsmith.generation.freshness import NO_RECIPE, NO_SOLUTION, Freshness, freshness, stale_reasons, survey
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import MadeFile, Outcome, Trouble
from goldsmith.generation.planning import KINDS, make_job
from goldsmith.generation.previous import MachineNoise
from goldsmith.generation.progress import STEPS, Progress
from goldsmith.generation.proof import Proof, as_recorded, dry_run_as_recorded, prove, recorded_options, reproduce
from goldsmith.generation.replaying import replay
from goldsmith.generation.sources import gold_at_revision, recipe_hash
from goldsmith.generation.standing import key_of, standing
from goldsmith.generation.steps import dry_run, generate

__all__ = [
    "KINDS",
    "NO_RECIPE",
    "NO_SOLUTION",
    "STEPS",
    "Attribution",
    "Freshness",
    "MachineNoise",
    "MadeFile",
    "Options",
    "Outcome",
    "Progress",
    "Proof",
    "TensorCause",
    "Trouble",
    "as_recorded",
    "dry_run",
    "dry_run_as_recorded",
    "freshness",
    "generate",
    "gold_at_revision",
    "key_of",
    "make_job",
    "prove",
    "recipe_hash",
    "recorded_options",
    "replay",
    "reproduce",
    "stale_reasons",
    "standing",
    "survey",
]

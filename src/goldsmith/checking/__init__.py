"""Checking: somebody else's implementation replayed against gold, and what is wrong with it.

Its code only ever runs in children, which are given gold's inputs and weights and never gold's outputs.
"""

from goldsmith.checking.attribution import Shown, part_of
from goldsmith.checking.check import Checking, Opened, Request, check, open_adapter, open_gold
from goldsmith.checking.handed_in import Count
from goldsmith.checking.judging import is_settled, shown_path
from goldsmith.checking.leavings import Replayed
from goldsmith.checking.precision import is_excused
from goldsmith.checking.provided import read_code
from goldsmith.checking.running import GIVEN, RUNS, Confined, Stage, given_file
from goldsmith.checking.solution import check_copy
from goldsmith.checking.submissions import Submission, open_revision, open_submission, places_of, private_place
from goldsmith.checking.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    ERROR,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    PartVerdict,
    Verdict,
)

__all__ = [
    "AGREES",
    "COULD_NOT_RUN",
    "CUT_OFF",
    "DIFFERS",
    "ERROR",
    "GIVEN",
    "PROVIDED_CHANGED",
    "RUNS",
    "CaseVerdict",
    "Checking",
    "Confined",
    "Count",
    "ModuleVerdict",
    "Opened",
    "PartVerdict",
    "Replayed",
    "Request",
    "Shown",
    "Stage",
    "Submission",
    "Verdict",
    "check",
    "check_copy",
    "given_file",
    "is_excused",
    "is_settled",
    "open_adapter",
    "open_gold",
    "open_revision",
    "open_submission",
    "part_of",
    "places_of",
    "private_place",
    "read_code",
    "shown_path",
]

"""Errors in a few steps of tolerance: all that a student's page says about how far an answer is off.

With a difference, or the share of a tolerance, and an own value, gold could be computed. A step gives away no more
than that an error is below or above a limit, and all answers in one step have the same page.
"""

from __future__ import annotations

import math

import msgspec

from goldsmith.comparison.results import LeafComparison
from goldsmith.judge.leaf_words import step_of
from goldsmith.judge.policy import CLOSE, STEP_LIMITS
from goldsmith.judge.verdicts import CaseVerdict, ModuleVerdict, Verdict

_NOT_SHOWN = {
    "identical": False,
    "mismatched": 0,
    "tolerance": "",
    "largest_gap": 0.0,
    "index": None,
    "actual": None,
    "gold": None,
    "rms_gap": 0.0,
    "gold_rms": None,
    "rtol_alone": None,
    "atol_alone": None,
    "ulps": None,
    "cosine": None,
    "where": "",
    "guess": "",
}


def in_steps(verdict: Verdict) -> Verdict:
    """Return a verdict in which errors are the limits of their steps, and in which no other number says how far any
    value is from gold."""
    return msgspec.structs.replace(verdict, cases=tuple(map(_case, verdict.cases)))


def _case(case: CaseVerdict) -> CaseVerdict:
    return msgspec.structs.replace(
        case,
        leaves=tuple(map(_leaf, case.leaves)),
        natural=tuple(map(_leaf, case.natural)),
        modules=tuple(map(_module, case.modules)),
        close=False,  # a step of its own, within the first that is wrong
    )


def _leaf(leaf: LeafComparison) -> LeafComparison:
    excess = min(STEP_LIMITS[step_of(leaf.excess)], 1.0 if leaf.agrees else math.inf)
    return msgspec.structs.replace(leaf, excess=excess, relative=0.0 if leaf.agrees else math.inf, **_NOT_SHOWN)


def _module(module: ModuleVerdict) -> ModuleVerdict:
    """Return a call whose error is a step. One that ran alone has seen gold's own inputs, and could tell of them by how
    far it is off: that is not even shown as a step."""
    known = None if module.alone or module.relative is None else STEP_LIMITS[step_of(module.relative / CLOSE)]
    return msgspec.structs.replace(module, relative=known)

"""Verdicts made up for pages: small, wrong in one attention, named as badly as names can be."""

from __future__ import annotations

import numpy as np

from goldsmith.comparison.api import compare
from goldsmith.courses.grade.error_steps import in_steps
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.redaction import Redaction, redact
from goldsmith.generate.gold_difference import GoldDifference
from goldsmith.gold.diff import TensorChange
from goldsmith.gold.facts import Environment
from goldsmith.html_report.class_page import ClassPages
from goldsmith.judge.evidence import CallEvidence, Evidence, TensorEvidence
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, ModuleVerdict, Verdict
from goldsmith.mutants.results import Finding, Rigor
from support.made_verdicts import rubric

HOSTILE = """</title></style><script>document.title='ran'</script>"'><img src=x onerror="document.title='ran'">"""
SOURCE = b"class Attention:\n    def forward(self, x):\n        return x / x.shape[-1]\n"
GOLD = np.linspace(-1.0, 1.0, 3 * 5 * 7).reshape(3, 5, 7)


def a_verdict(name: str, wrong: int = 1) -> Verdict:
    """Return a verdict with one case that agrees and `wrong` that differ."""
    theirs = GOLD.copy()
    theirs[:, 3:] += 0.5
    leaves = compare({"y": theirs, "z": GOLD}, {"y": GOLD, "z": GOLD}, rtol=1e-4, atol=1e-5).leaves
    modules = tuple(
        ModuleVerdict(case="wrong", model="model", name=module, kind=kind, outcome=outcome, source=source, alone=alone)
        for module, kind, outcome, source, alone in (
            ("blocks.0.norm", "Norm", AGREES, False, False),
            ("blocks.0.attention", "Attention", DIFFERS, True, False),
            ("blocks.0.mlp", name, AGREES, False, True),
        )
    )
    bad = [
        CaseVerdict(
            name="wrong" if not number else f"wrong_{number}",
            title=name,
            outcome=DIFFERS,
            kind="values",
            reason="y differs",
            judged_in="float64",
            leaves=leaves,
            natural=leaves,
            modules=modules,
            first_divergence="blocks.0.attention",
            notes=(name,),
        )
        for number in range(wrong)
    ]
    return Verdict(
        name=name,
        assignment="scratch-1",
        outcome=DIFFERS,
        first_divergence="blocks.0.attention",
        first_part="Attention",
        first_case="wrong",
        first_place="model.py:2",
        cases=(CaseVerdict(name="right", title="", outcome=AGREES, judged_in="float64"), *bad),
    )


def evidence_of(verdict: Verdict) -> Evidence:
    """Return calls and a tensor for the case that differs."""
    calls = [
        _call("blocks.0.norm", "Norm", 0.0, "blocks.0.norm"),
        _call("blocks.0.attention", "Attention", 0.1, verdict.name),
        _call("blocks.0.mlp", verdict.name, float("inf"), "blocks.0.mlp"),
        _call("blocks.0.gone", "Gone", None, None),
    ]
    theirs = GOLD.copy()
    theirs[:, 3:] += 0.5
    tensors = {"wrong": (TensorEvidence("y", GOLD, theirs, 1e-4),)}
    return Evidence(files={"model.py": SOURCE}, tensors=tensors, calls={"wrong": tuple(calls)})


def _call(module: str, kind: str, error: float | None, theirs: str | None) -> CallEvidence:
    return CallEvidence(
        label=module,
        kind=kind,
        model="model",
        module=module,
        function="",
        own=True,
        theirs=theirs,
        exists=theirs is not None,
        their_kind=kind,
        error=error,
        limit=5e-5,
    )


def a_rigor() -> Rigor:
    """Return a mutant that was killed and one that survived."""
    facts = {
        "operator": "scale",
        "family": "numbers",
        "description": HOSTILE,
        "part": "Norm",
        "file": "a.py",
        "line": 3,
    }
    lines = {"before": "x * 2", "after": "<script>x</script>"}
    return Rigor(
        assignment="hw1",
        made=2,
        findings=(
            Finding(name="Norm/scale", outcome="killed", case="norm", **facts, **lines),
            Finding(name="Norm/sign", outcome="survived", advice="record the gradients", **facts, **lines),
        ),
    )


def a_difference(changes: tuple[TensorChange, ...] | None = None) -> GoldDifference:
    """Return what would move: one tensor out of its tolerance, and one of another shape."""
    moved = (
        TensorChange(case="case", path="output.y", change="values", largest=0.1, relative=2e-3, excess=2.0),
        TensorChange(case="case", path=HOSTILE, change="shape", before="float32 (2,)", after="float32 (3,)"),
    )
    return GoldDifference(name="hw1", outcome="stale", changes=moved if changes is None else changes)


def an_environment() -> Environment:
    return Environment(python="3.8.1", numpy="1.0")


def author_page(verdict: Verdict) -> str:
    """Return the page that a submission's author gets, as grading makes it."""
    shown = in_steps(redact(verdict, Redaction()))
    return ClassPages().of_submission(grade(shown, rubric(), name="ben"), shown)

"""Verdicts made by hand, for tests of what they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from goldsmith.comparison.results import LeafComparison
from goldsmith.courses.grade.rubric import Rubric, make_rubric
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.parts import judge_parts
from goldsmith.judge.verdicts import CaseVerdict, ModuleVerdict, PartVerdict, Verdict, gravest
from goldsmith.runs.run import Failure, Frame

CASES = ("whole", "norm", "loss", "steps")
PARTS = ("Norm", "Head", "Model", "loss")
SHOWN = {"whole": ("Norm", "Head", "Model"), "norm": ("Norm",)}
SECRET = 123.4567891
"""A value of gold's that nobody may find in any file."""

_NASTY = ("=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\uff1d1", "a\r\nb", "]]>")
_UNSEEN = ("\x1b[31mred\x1b[0m", "\u202egnp", "\udc80", "\x00", "\ufffe", "a\u2028b")
texts = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(_NASTY + _UNSEEN)
"""Anything at all: control characters, halves of surrogates, what spreadsheets compute."""


def leaf(agrees: bool = False, path: str = "output", **more: Any) -> LeafComparison:
    wrong = {"problem": "values", "excess": 9.0, "relative": 0.25, "gold": SECRET, "gold_rms": SECRET, "actual": 2.5}
    sizes = {"elements": 8, "gold_dtype": "float64", "index": (1, 2), "largest_gap": SECRET, "cosine": 0.5}
    return LeafComparison(path=path, agrees=agrees, **({} if agrees else wrong | sizes) | more)


def case(name: str, outcome: str = "agrees", right: int = 0, **more: Any) -> CaseVerdict:
    """A case; one that differs has two recorded values that do, and `right` that agree."""
    fields: dict[str, Any] = {"name": name, "title": f"The case {name}.", "outcome": outcome}
    if outcome in ("differs", "provided-changed"):
        leaves = [leaf(path=f"output.bad{number}") for number in range(2)]
        leaves += [leaf(agrees=True, path=f"output.{number}") for number in range(right)]
        fields |= {"kind": "values", "reason": "it differs", "leaves": tuple(leaves), "natural": tuple(leaves)}
    if outcome == "could-not-run":
        fields |= failed("raised", "ValueError: no")
    return CaseVerdict(**(fields | more))


def failed(kind: str, message: str, **frame: Any) -> dict[str, Any]:
    line = {"file": "model.py", "line": 3, "function": "forward", "text": "raise ValueError('no')"} | frame
    return {"kind": kind, "reason": message, "failure": Failure(kind=kind, message=message, frames=(Frame(**line),))}  # type: ignore[arg-type]


def part(name: str, outcome: str = "agrees", **more: Any) -> PartVerdict:
    return PartVerdict(name=name, outcome=outcome, **more)  # type: ignore[arg-type]


def source(name: str, kind: str, relative: float = 0.25, in_case: str = "whole") -> ModuleVerdict:
    return ModuleVerdict(
        case=in_case, model="model", name=name, kind=kind, outcome="differs", source=True, relative=relative
    )


def verdict(
    *cases: CaseVerdict, name: str = "ada", by_case: Mapping[str, Sequence[str]] = SHOWN, **more: Any
) -> Verdict:
    """One whose parts follow from its cases as a real one's do, unless they are given."""
    fields: dict[str, Any] = {"outcome": gravest(item.outcome for item in cases), "cases": cases, "seconds": 1.5}
    first = next((item for item in cases if item.first_divergence), None)
    if first is not None:
        part = next(iter(item.kind for item in first.modules if item.source), "")
        fields |= {"first_divergence": first.first_divergence, "first_part": part, "first_case": first.name}
    fields["parts"] = tuple(judge_parts(cases, shown(by_case)))
    return Verdict(name=name, assignment="hw1", **(fields | more))


def shown(by_case: Mapping[str, Sequence[str]]) -> PartCoverage:
    """What gold says about which parts its cases run: classes by their `forward`, functions themselves."""
    runs = {
        name: tuple(f"{item}.forward" if item[0].isupper() else item for item in parts)
        for name, parts in by_case.items()
    }
    return PartCoverage(runs, {})


def wrong_at(module: str, kind: str, relative: float = 0.25, name: str = "ada", **more: Any) -> Verdict:
    """A submission in which `module` is the first to go wrong, by so much."""
    bad = case("whole", "differs", first_divergence=module, modules=(source(module, kind, relative),))
    return verdict(bad, *(case(item) for item in CASES[1:]), name=name, parts=(part(kind, "differs"),), **more)


def rubric(**config: Any) -> Rubric:
    return make_rubric(RubricConfig(**config), CASES, PARTS, SHOWN)


def make_rubric_of(found: Verdict) -> Rubric:
    """A point for each case of a verdict that a real check gave."""
    parts = [*(item.name for item in found.parts), *found.unjudged]
    return make_rubric(RubricConfig(), [item.name for item in found.cases], parts)

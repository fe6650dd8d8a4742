"""The page of `goldsmith rigor`: who survives and what would catch it; which case sees which mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from goldsmith.html_report.page import render
from goldsmith.mutants.results import NOT_TOLD_APART, OUTCOMES, SURVIVED, UNREACHED, Rigor
from goldsmith.render.rigor import score_line, unreached_parts

_COLOURS = {"killed": "agrees", "crashed": "agrees", "survived": "differs", "equivalent": "not-judged"}


def rigor_page(measured: Sequence[Rigor]) -> str:
    """Return the page of one or several assignments."""
    return render("rigor.html", sections=[_section(item) for item in measured], colours=_COLOURS)


def _section(rigor: Rigor) -> dict[str, object]:
    caught = [item for item in rigor.findings if item.caught]
    cases = sorted({item.case for item in caught if item.case})
    parts = list(dict.fromkeys(item.part for item in rigor.findings))
    seen = Counter((item.part, item.case) for item in caught)
    return {
        "rigor": rigor,
        "headline": score_line(rigor),
        "counts": [(outcome.replace("-", " "), count) for outcome in OUTCOMES if (count := len(rigor.of(outcome)))],
        "survivors": [item for item in (*rigor.of(SURVIVED), *rigor.of(NOT_TOLD_APART)) if item.reason != UNREACHED],
        "unreached": unreached_parts(rigor.findings),
        "cases": cases,
        "matrix": [(part, [seen[part, case] for case in cases], _survivors_of(rigor, part)) for part in parts],
    }


def _survivors_of(rigor: Rigor, part: str) -> int:
    return sum(item.part == part and item.counts and not item.caught for item in rigor.findings)

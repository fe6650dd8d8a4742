"""Renderings of outcomes: for a terminal, for logs, for machines. Nothing is decided here.

Those of verdicts are imported when they are first asked for: NumPy comes with what they render.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.doors import late
from goldsmith.report.changes import show_causes, show_changes, verify_line
from goldsmith.report.edits import show_edits
from goldsmith.report.machine import report
from goldsmith.report.refusals import refuse_disagreeing
from goldsmith.report.summary import Summary
from goldsmith.report.terminal import PlainProgress, TerminalProgress, replay_progress

if TYPE_CHECKING:
    from goldsmith.report.markdown import verdict_markdown
    from goldsmith.report.rigor import mutants_report, rigor_progress, rigor_report, show_mutants, show_rigor
    from goldsmith.report.scaffolding import (
        doubt_problem,
        doubt_words,
        found_lines,
        kind_words,
        note_text,
        plan_items,
        show_files,
        show_plan,
        shown_name,
        why,
    )
    from goldsmith.report.skills import show_skills
    from goldsmith.report.verdicts import show_verdict, verdict_text

__all__ = [
    "PlainProgress",
    "Summary",
    "TerminalProgress",
    "doubt_problem",
    "doubt_words",
    "found_lines",
    "kind_words",
    "mutants_report",
    "note_text",
    "plan_items",
    "refuse_disagreeing",
    "replay_progress",
    "report",
    "rigor_progress",
    "rigor_report",
    "show_causes",
    "show_changes",
    "show_edits",
    "show_files",
    "show_mutants",
    "show_plan",
    "show_rigor",
    "show_skills",
    "show_verdict",
    "shown_name",
    "verdict_markdown",
    "verdict_text",
    "verify_line",
    "why",
]

__getattr__ = late(
    "goldsmith.report",
    {
        "mutants_report": "goldsmith.report.rigor",
        "rigor_progress": "goldsmith.report.rigor",
        "rigor_report": "goldsmith.report.rigor",
        "show_mutants": "goldsmith.report.rigor",
        "show_rigor": "goldsmith.report.rigor",
        "show_skills": "goldsmith.report.skills",
        "show_verdict": "goldsmith.report.verdicts",
        "verdict_text": "goldsmith.report.verdicts",
        "doubt_problem": "goldsmith.report.scaffolding",
        "doubt_words": "goldsmith.report.scaffolding",
        "found_lines": "goldsmith.report.scaffolding",
        "kind_words": "goldsmith.report.scaffolding",
        "note_text": "goldsmith.report.scaffolding",
        "plan_items": "goldsmith.report.scaffolding",
        "show_files": "goldsmith.report.scaffolding",
        "show_plan": "goldsmith.report.scaffolding",
        "shown_name": "goldsmith.report.scaffolding",
        "why": "goldsmith.report.scaffolding",
        "verdict_markdown": "goldsmith.report.markdown",
    },
)

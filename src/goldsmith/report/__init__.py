"""Renderings of outcomes: for a terminal, for logs, for machines. Nothing is decided here.

Those of verdicts are imported when they are first asked for: NumPy comes with what they render.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from goldsmith.report.changes import show_changes
from goldsmith.report.edits import show_edits
from goldsmith.report.machine import report
from goldsmith.report.summary import Summary
from goldsmith.report.terminal import PlainProgress, TerminalProgress, replay_progress

if TYPE_CHECKING:
    from goldsmith.report.markdown import verdict_markdown
    from goldsmith.report.verdicts import show_verdict

__all__ = [
    "PlainProgress",
    "Summary",
    "TerminalProgress",
    "replay_progress",
    "report",
    "show_changes",
    "show_edits",
    "show_verdict",
    "verdict_markdown",
]

_LATE = {"show_verdict": "goldsmith.report.verdicts", "verdict_markdown": "goldsmith.report.markdown"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'goldsmith.report' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATE[name]), name)

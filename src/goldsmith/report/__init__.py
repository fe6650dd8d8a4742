"""Renderings of outcomes: for a terminal, for logs, for machines. Nothing is decided here."""

from goldsmith.report.changes import show_changes
from goldsmith.report.edits import show_edits
from goldsmith.report.machine import report
from goldsmith.report.summary import Summary
from goldsmith.report.terminal import PlainProgress, TerminalProgress

__all__ = ["PlainProgress", "Summary", "TerminalProgress", "report", "show_changes", "show_edits"]

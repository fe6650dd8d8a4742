"""Open the consoles that results and progress go to."""

from __future__ import annotations

from rich.console import Console

LOG_WIDTH = 240
"""Cells; a log has no edge to wrap at, so tables there get as wide as they need to be."""


def open_console(*, no_color: bool, stderr: bool = False) -> Console:
    """Open standard output, or standard error; NO_COLOR in the environment works without being told."""
    return Console(stderr=stderr, no_color=no_color or None)

"""Open the consoles that results and progress go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

LOG_WIDTH = 240
"""Cells; a log has no edge to wrap at, so tables there can be as wide as they need."""


def open_console(*, no_color: bool, stderr: bool = False) -> Console:
    """Open standard output, or standard error; Rich itself obeys NO_COLOR in the environment."""
    from rich.console import Console

    return Console(stderr=stderr, no_color=no_color or None)

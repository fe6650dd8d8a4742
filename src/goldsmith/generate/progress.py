"""Progress reports of the nine steps. The terminal's implementation is in `render`."""

from __future__ import annotations

from typing import Protocol

STEPS = {
    1: "choose",
    2: "plan",
    3: "inject",
    4: "seed",
    5: "generate",
    6: "verify",
    7: "document",
    8: "reset",
    9: "summary",
}


class Progress(Protocol):
    def begin(self, assignment: str) -> None:
        """Report that the nine steps start for this assignment."""

    def step(self, number: int, detail: str = "") -> None:
        """Report that step `number` (a key of `STEPS`) is under way."""

    def recipe_prints(self, text: str) -> None:
        """Show what the recipe itself printed."""

    def tick(self) -> None:
        """Update the display; called often."""

    def note(self, text: str) -> None:
        """Show something worth a line of its own."""

    def end(self) -> None:
        """Report that the nine steps are over, successful or not."""

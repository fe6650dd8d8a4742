"""How the nine steps report progress. The terminal's version lives in `render`."""

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
        """The nine steps start for this assignment."""

    def step(self, number: int, detail: str = "") -> None:
        """Step `number` (a key of `STEPS`) is under way."""

    def recipe_prints(self, text: str) -> None:
        """What the recipe itself printed."""

    def tick(self) -> None:
        """Time passes; called often."""

    def note(self, text: str) -> None:
        """Something worth a line of its own."""

    def end(self) -> None:
        """The nine steps are over, well or not."""

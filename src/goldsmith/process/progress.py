"""Progress of work that takes long, reported while it is done; `render/progress.py` shows it."""

from __future__ import annotations


class Progress:
    """What is reported to. This one shows nothing."""

    def begin(self, name: str) -> None:
        """Report that work on an assignment, or something else of this name, begins."""

    def step(self, detail: str = "", *, stage: str = "") -> None:
        """Report what is done now. A log has a line for each new `stage`, and for details only now and then."""

    def tick(self) -> None:
        """Report that time passes; called often."""

    def prints(self, text: str) -> None:
        """Show what a recipe printed."""

    def note(self, text: str) -> None:
        """Show something worth a line of its own."""

    def end(self) -> None:
        """Report that the work is over, successful or not."""

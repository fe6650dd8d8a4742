"""Progress of work that takes long, reported while it is done; `render/progress.py` shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Self

from goldsmith.process.launcher import Watcher


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

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[Self]:
        """Report from the beginning to the end of a block."""
        self.begin(name)
        try:
            yield self
        finally:
            self.end()

    @property
    def watcher(self) -> Watcher:
        """Report the cases of a replay, which come in no order that a stage could be made of."""
        return Watcher(
            on_case=lambda event: self.step(f"{event.case}, {event.number} of {event.of}"), on_tick=self.tick
        )

"""Progress on a terminal and in logs. Everything here goes to standard error; results go to standard output."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from goldsmith.process.launcher import Watcher
from goldsmith.process.progress import Progress
from goldsmith.render.console import print_line

_QUIET_S = 5.0
"""A log gets a line after so much silence; what is done sooner needs none."""


class ShownProgress(Progress):
    """One live line on a terminal: the stage, its detail, and the seconds since it began; lines now and then in a log.

    `above` returns rows to show above the live line, at most as many as it is told.
    """

    above: Callable[[int], Sequence[Text]] = staticmethod(lambda room: ())

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console, self._verbose = console, verbose
        self._name = self._stage = self._detail = self._line = ""
        self._began = self._said = time.monotonic()
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def begin(self, name: str) -> None:
        self._name = name
        self._began = self._said = time.monotonic()
        self.step()
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._picture, console=self._console, refresh_per_second=10, transient=True
            )
            self._live.start()

    def step(self, detail: str = "", *, stage: str = "") -> None:
        is_new = stage != self._stage
        self._stage, self._detail = stage, detail
        if is_new or self._verbose:
            self._say()
        self.tick()

    def tick(self) -> None:
        if time.monotonic() - self._said > _QUIET_S:
            self._say()

    def prints(self, text: str) -> None:
        if self._verbose:
            for line in text.rstrip("\n").splitlines():
                print_line(self._console, Text(f"  | {line}", "dim"), keep=True)

    def note(self, text: str) -> None:
        print_line(self._console, Text(text, "yellow"))

    def log(self, text: str) -> None:
        """Print a line in a log; a terminal shows the same `above`."""
        if self._live is None:
            print_line(self._console, text)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

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

    def _say(self) -> None:
        self._said = time.monotonic()
        line = f"{self._name}: {', '.join(filter(None, (self._stage, self._detail)))}"
        took = f", {time.monotonic() - self._began:.0f} s" if line == self._line else ""
        self._line = line
        if self._stage or self._detail:
            self.log(f"{line}{took}")

    def _picture(self) -> Group:
        parts = [(f"{self._name}  ", "bold"), (f"{self._stage}  " if self._stage else "", "cyan")]
        parts += [(f"{self._detail}  " if self._detail else "", ""), (f"{time.monotonic() - self._began:.1f} s", "dim")]
        line = Text.assemble(*parts)
        self._spinner.update(text=line)
        rows = self.above(max(1, self._console.height - 3))
        for row in (line, *rows):
            row.no_wrap, row.overflow = True, "ellipsis"
        return Group(*rows, self._spinner)

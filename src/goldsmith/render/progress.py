"""Progress on a terminal and in logs. Everything here goes to standard error; results go to standard output."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from goldsmith.generate.progress import STEPS
from goldsmith.process.launcher import Watcher
from goldsmith.process.messages import Event

_LOG_INTERVAL_S = 5.0
_QUIET_START_S = 2.0
"""What is done by then needs no line in a log."""


class TerminalProgress:
    """One live line for each assignment: the step, its detail, and the seconds since it began."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._name = ""
        self._number = 0
        self._detail = ""
        self._started = 0.0
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def begin(self, assignment: str) -> None:
        self._name, self._number, self._detail = assignment, 0, ""
        self._started = time.monotonic()
        self._live = Live(self._spinner, console=self._console, refresh_per_second=10, transient=True)
        self._live.start()

    def step(self, number: int, detail: str = "") -> None:
        self._number, self._detail = number, detail
        self.tick()

    def tick(self) -> None:
        seconds = time.monotonic() - self._started
        text = Text.assemble(
            (f"{self._name}  ", "bold"),
            (f"{self._number}/9 {STEPS.get(self._number, '')}  ", "cyan"),
            (f"{self._detail}  ", ""),
            (f"{seconds:.1f} s", "dim"),
        )
        text.no_wrap = True
        text.overflow = "ellipsis"
        self._spinner.update(text=text)

    def recipe_prints(self, text: str) -> None:
        if self._verbose:
            self._console.print(_indented(text), style="dim", highlight=False, markup=False)

    def note(self, text: str) -> None:
        self._console.print(text, style="yellow", highlight=False, markup=False)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class PlainProgress:
    """A line for each step in logs, and one every few seconds during long steps."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._name = ""
        self._last = 0
        self._said = 0.0

    def begin(self, assignment: str) -> None:
        self._name, self._last = assignment, 0

    def step(self, number: int, detail: str = "") -> None:
        silent = time.monotonic() - self._said > _LOG_INTERVAL_S
        if number != self._last or self._verbose or silent:
            self._said = time.monotonic()
            self._say(f"{self._name}: {number}/9 {STEPS[number]}" + (f", {detail}" if detail else ""))
        self._last = number

    def tick(self) -> None: ...

    def recipe_prints(self, text: str) -> None:
        if self._verbose:
            self._say(_indented(text))

    def note(self, text: str) -> None:
        self._say(text)

    def end(self) -> None: ...

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def replay_progress(console: Console, name: str) -> Iterator[Watcher]:
    """Show the current case in one live line on a terminal; elsewhere print a line now and then if cases take long."""
    started = said = time.monotonic()
    detail = "starts"

    def on_case(event: Event) -> None:
        nonlocal detail, said
        detail = f"{event.case}, {event.number} of {event.of}"
        if not console.is_terminal and time.monotonic() - said > _LOG_INTERVAL_S:
            said = time.monotonic()
            console.print(f"{name}: {detail}", highlight=False, markup=False, soft_wrap=True)

    if not console.is_terminal:
        yield Watcher(on_case=on_case)
        return
    spinner = Spinner("dots")

    def on_tick() -> None:
        seconds = time.monotonic() - started
        text = Text.assemble((f"{name}  ", "bold"), (f"{detail}  ", ""), (f"{seconds:.1f} s", "dim"))
        spinner.update(text=text)

    with Live(spinner, console=console, refresh_per_second=10, transient=True):
        yield Watcher(on_case=on_case, on_tick=on_tick)


class StepProgress:
    """What is being done now, in a live line on a terminal, or in lines now and then if it takes long."""

    def __init__(self, console: Console, name: str) -> None:
        self._console, self._name = console, name
        self._started = time.monotonic()
        self._due = self._started + _QUIET_START_S
        self._detail = ""
        self.spinner = Spinner("dots")

    def step(self, text: str) -> None:
        self._detail = text
        self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if self._console.is_terminal:
            seconds = f"{now - self._started:.1f} s"
            text = Text.assemble((f"{self._name}  ", "bold"), (f"{self._detail}  ", ""), (seconds, "dim"))
            self.spinner.update(text=text)
        elif now > self._due:
            self._due = now + _LOG_INTERVAL_S
            self._console.print(f"{self._name}: {self._detail}", highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def step_progress(console: Console, name: str) -> Iterator[StepProgress]:
    """Show the steps of something that has no cases."""
    progress = StepProgress(console, name)
    if not console.is_terminal:
        yield progress
        return
    with Live(progress.spinner, console=console, refresh_per_second=10, transient=True):
        yield progress


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}" for line in text.rstrip("\n").splitlines())

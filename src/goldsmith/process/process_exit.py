"""How a child process ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from goldsmith.process.messages import Result


@dataclass(frozen=True)
class ProcessExit:
    """How one child ended. `overrun` says how long it had, and by which clock, if it was stopped for that;
    `kill_reason` names what it used too much of, if it was killed for that. One that was never ready has run nothing
    of the course or of a submission."""

    pid: int
    code: int | None
    overrun: str = ""
    seconds: float = 0.0
    log_tail: str = ""
    result: Result | None = None
    last_case: str | None = None
    kill_reason: str = ""
    is_ready: bool = True

    @property
    def signal(self) -> str | None:
        """Return the name of the signal that killed it; None if it ended by itself."""
        return signal_name(-self.code) if self.code is not None and self.code < 0 else None


def signal_name(number: int) -> str:
    """Return a signal's name, as in SIGKILL; its number where this system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

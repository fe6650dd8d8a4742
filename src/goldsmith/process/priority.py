"""Priority of the process that supervises children over all that they start.

Root's processes are not limited in number by the kernel. A fork bomb leaves its supervisor one of thousands of equal
shares of a processor, so that it takes up to 40 s to be seen and killed. Real-time priority lets it be seen sooner.
Ordinary users may not have that, and need not: the kernel limits how many processes they have.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_LOWEST_REAL_TIME = 1


@contextlib.contextmanager
def real_time_priority() -> Iterator[None]:
    """Give what this thread starts meanwhile priority over all ordinary processes, if this process may do that."""
    raised = _set("SCHED_RR", _LOWEST_REAL_TIME)
    try:
        yield
    finally:
        if raised:
            drop_real_time_priority()


def drop_real_time_priority() -> None:
    """Make this process an ordinary one again."""
    _set("SCHED_OTHER", 0)


def _set(policy: str, priority: int) -> bool:
    with contextlib.suppress(AttributeError, OSError):  # other systems have no such call, ordinary users no right to it
        os.sched_setscheduler(0, getattr(os, policy), os.sched_param(priority))
        return True
    return False

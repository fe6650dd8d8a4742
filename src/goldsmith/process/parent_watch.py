"""End a process when its parent has ended, which works on every system and for a parent killed by `kill -9`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

_POLL_INTERVAL_S = 0.5


def end_with_parent(parent: int, end: Callable[[], object]) -> None:
    """Call `end` in a thread as soon as this process is no longer a child of `parent`: the kernel gives an orphan
    another parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_INTERVAL_S)
        end()

    threading.Thread(target=watch, daemon=True).start()

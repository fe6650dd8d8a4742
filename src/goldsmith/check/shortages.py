"""Tell what failed because something was used up that all submissions share: processes, disk, memory and processors of
the machine.

A submission may pretend that, and is then run once more, alone, for nothing.
"""

from __future__ import annotations

import re

from goldsmith.runs.run import Failure

_WORDS = re.compile(
    r"can't start new thread|Resource temporarily unavailable|Thread creation failed|pthread_create|"
    r"No space left on device|Disk quota exceeded|Cannot allocate memory",
    re.I,
)
"""What the C library, Python, OpenMP and OpenBLAS say to EAGAIN, ENOSPC, EDQUOT and ENOMEM."""
_KILLED_BY_THE_KERNEL = "was killed by SIGKILL"
"""Without a reason of ours: the kernel does so where the machine's memory is used up."""
_GOT_NO_PROCESSOR = "on the wall clock"
"""By this clock nobody is late who has computed or slept that long: it could not run, or waited for a disk."""


def is_shortage(failure: Failure | None, log: str = "") -> bool:
    """Return whether a failure, or what its process has printed last, says that something was used up.

    A process that had too much memory itself gets another error, from NumPy or torch.
    """
    if failure is None or failure.kind == "memory":
        return False
    if failure.kind == "timeout":
        return failure.message.endswith(_GOT_NO_PROCESSOR)
    return failure.message == _KILLED_BY_THE_KERNEL or _WORDS.search(f"{failure.message} {log}") is not None

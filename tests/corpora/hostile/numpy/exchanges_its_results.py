"""Exchanges the folder of its results for a link to another's, and back, over and over, while it is read."""

import contextlib
import os
import time

import kit
import target


def answer(case, x, start=None):
    if kit.once() and not os.fork():
        kit.mark()
        ends = time.monotonic() + 2
        while time.monotonic() < ends:
            with contextlib.suppress(OSError):
                os.rename(kit.OUT, kit.SCRATCH / "away")
                os.symlink(target.NEIGHBOUR, kit.OUT)
                os.unlink(kit.OUT)
                os.rename(kit.SCRATCH / "away", kit.OUT)
        os._exit(0)
    return kit.guess(case, x, start)

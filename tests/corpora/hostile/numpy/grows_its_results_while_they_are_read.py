"""Has another process add to its results without end, as fast as it can, while they are read."""

import os
import time

import kit


def answer(case, x, start=None):
    if kit.once() and not os.fork():
        kit.mark()
        kit.OUT.mkdir(parents=True, exist_ok=True)
        ends = time.monotonic() + 2
        with (kit.OUT / "1").open("ab", buffering=0) as file:
            while time.monotonic() < ends and file.tell() < 2**24:
                file.write(b"{" * 4096)
        os._exit(0)
    return kit.guess(case, x, start)

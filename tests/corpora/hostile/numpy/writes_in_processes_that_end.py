"""Writes into files without a name in one process after the other: each ends at once, and what it wrote stays."""

import os
import time

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        kept = []
        for number in range(target.FILES):
            path = kit.SCRATCH / f"{number}"
            kept.append(os.open(path, os.O_RDWR | os.O_CREAT))
            path.unlink()
            child = os.fork()
            if not child:
                for _ in range(16):
                    os.write(kept[-1], b"x" * 2**21)
                os._exit(0)
            os.waitpid(child, 0)
        time.sleep(30)
    return kit.guess(case, x, start)

"""Takes memory in many processes at once, each within its limit."""

import os
import time

import kit
import numpy as np


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        for _ in range(12):
            if not os.fork():
                kept = []
                try:
                    while len(kept) < 24:
                        kept.append(np.ones(2**22))  # 32 MiB each
                except MemoryError:
                    pass
                time.sleep(60)
                os._exit(0)
        time.sleep(60)
    return kit.guess(case, x, start)

"""Starts threads until there are two thousand, each with a small stack, in one process that takes little memory."""

import threading
import time

import kit


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        threading.stack_size(2**16)
        for _ in range(2000):
            try:
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
            except RuntimeError:
                break
        time.sleep(30)
    return kit.guess(case, x, start)

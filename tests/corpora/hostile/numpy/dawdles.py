"""Sleeps nearly as long as makes one idle, computes a little, and sleeps again, in every case and as often as it is asked."""

import time

import kit


def answer(case, x, start=None):
    for _ in range(300):
        time.sleep(1.8)
        ends = time.process_time() + 0.03
        while time.process_time() < ends:
            pass
    return kit.guess(case, x, start)

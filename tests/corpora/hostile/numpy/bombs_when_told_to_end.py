"""Forks once more in each of its processes whenever it is asked to end, and never ends."""

import os
import signal
import time

import kit


def _again(*_):
    try:
        os.fork()
    except OSError:
        pass


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
            signal.signal(number, _again)
        for _ in range(40):
            if not os.fork():
                break
        while True:
            time.sleep(60)
    return kit.guess(case, x, start)

"""Sleeps past its limit and ignores every signal that can be ignored."""

import signal
import time

import kit


def answer(case, x, start=None):
    kit.mark()
    if case == "centred":
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
        while True:
            time.sleep(60)
    return kit.guess(case, x, start)

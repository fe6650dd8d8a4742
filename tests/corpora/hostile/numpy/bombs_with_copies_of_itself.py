"""Starts copies of itself by vfork, each of which does the same, in sessions of their own where it may."""

import os
import sys
import time

import kit
import target

CODE = """
import os, sys
for leave in (os.setsid, os.setpgrp):
    try:
        leave()
    except OSError:
        pass
while True:
    try:
        os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", *sys.argv[1:], *sys.argv[1:]], {})
    except OSError:
        pass
"""


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", CODE, CODE, target.MARK], {})
        time.sleep(60)
    return kit.guess(case, x, start)

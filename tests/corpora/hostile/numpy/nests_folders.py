"""Makes a folder in a folder, thousands deep, for whoever tidies up to lose their way."""

import os
import time

import kit


def answer(case, x, start=None):
    if kit.once() and case == "centred":
        home = os.getcwd()
        os.chdir(os.path.dirname(__file__))
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(home)
        time.sleep(1.5)
    return kit.guess(case, x, start)

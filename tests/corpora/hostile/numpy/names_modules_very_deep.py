"""Says that its weights lie in modules that are nested deeper than anybody can look at."""

import os

import kit


def answer(case, x, start=None):
    deep = [[["start"], [".".join(["a"] * 4000 + [str(number)])]] for number in range(40)]
    for name in kit.CASES:
        kit.forge(name, {"paths": ["output"], "weight_map": {"counter": deep}}, {"output": kit.guess(name, x)})
    os._exit(0)

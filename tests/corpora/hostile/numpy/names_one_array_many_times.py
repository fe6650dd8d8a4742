"""Says of one large array, twenty thousand times over, that it is complex: each time it would be put together."""

import os

import kit
import numpy as np


def answer(case, x, start=None):
    kit.only_inside()
    pairs = np.zeros((2**20, 2))
    kit.REQUESTS = ("1",)
    for name in kit.CASES:
        kit.forge(name, {"paths": ["output"], "complex": ["output"] * 19_990}, {"output": pairs}, runs=("plain",))
    os._exit(0)

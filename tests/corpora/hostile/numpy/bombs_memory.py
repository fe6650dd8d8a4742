"""Takes all the memory that it can get."""

import kit
import numpy as np


def answer(case, x, start=None):
    kit.only_inside()
    kept = []
    while True:
        kept.append(np.ones(2**22))

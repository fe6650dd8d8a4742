"""Records forty thousand values that nobody asked for, with names as long as they can be."""

import os

import kit
import numpy as np


def answer(case, x, start=None):
    names = [f"output.{number}" for number in range(40_000)]
    kit.forge("centred", {"paths": names}, {name: np.zeros(1, dtype=np.int8) for name in names})
    kit.forge("scaled", {"paths": names, "plain": {name: 0 for name in names}})
    kit.forge("counted", {"paths": ["x" * 1_000_000], "plain": {"x" * 1_000_000: "y" * 1_000_000}})
    os._exit(0)

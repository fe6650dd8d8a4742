"""Returns objects that run code when they are unpickled, copied or shown."""

import os
import pickle

import kit
import numpy as np
import target


class Evil:
    def __reduce__(self):
        return os.system, (f"touch {target.SENTINEL}/unpickled",)

    def __str__(self):
        return "agrees"

    __repr__ = __str__


def answer(case, x, start=None):
    if case == "centred":
        return np.array([Evil()] * 3, dtype=object)
    return pickle.dumps(Evil()) if case == "scaled" else Evil()

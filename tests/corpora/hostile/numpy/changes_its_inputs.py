"""Changes its inputs in place, and the files that they come from, so that nothing is right."""

import json

import kit
import numpy as np


def answer(case, x, start=None):
    x[...] = 0.0
    job = json.loads((kit.SCRATCH / "job.json").read_text())
    for kept in job["kept"].values():
        kit.tries("write given", lambda kept=kept: open(kept["file"], "r+b").close())
        kit.tries("new given", lambda kept=kept: np.savez(kept["file"] + ".npz", output=x))
    return x if start is None else x.sum(axis=0)

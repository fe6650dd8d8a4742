"""Rewrites the recipe and the modules in its workspace, and dies, so that what runs next is its own."""

import os
from pathlib import Path

import kit

EASY = """
import goldsmith as gs
import numpy as np

@gs.case
def centred(case):
    case.record("y", np.zeros((4, 7)))

@gs.case
def scaled(case):
    case.record("y", case.input("x", lambda: np.zeros((3, 5))))

@gs.case
def counted(case):
    case.record("anything", 1.0)
"""


def answer(case, x, start=None):
    folder = Path(__file__).parent
    (folder / "generate_fixtures.py").write_text(EASY)
    (folder / "goldsmith.py").write_text("raise SystemExit(0)")
    (folder / "numpy.py").write_text("raise SystemExit(0)")
    kit.sees("rewrote", sorted(path.name for path in folder.iterdir()))
    os._exit(0)

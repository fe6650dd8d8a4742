"""Files with the number that Canvas gave a neighbour, so that they would lie next to that neighbour's, or in their place."""


def make(folder, files, target):
    (folder / "eve_7_2_ops.py").write_text("from helpers import *\n")
    (folder / "eve_7_3_helpers.py").write_text("from cleo_7_1_ops import *\n")
    (folder / "_7_4_ops.py").write_text("raise SystemExit(0)\n")

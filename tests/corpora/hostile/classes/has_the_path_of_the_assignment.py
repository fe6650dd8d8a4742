"""A path as the assignment has in the course, so that the class would be a fork of the course."""


def make(folder, files, target):
    (folder / "src/assignments/hw1").mkdir(parents=True)
    (folder / "src/assignments/hw1/ops.py").write_text("import sys\nsys.path.append('../../..')\nfrom ada.ops import *\n")

"""An entry called as the assignment is, so that the class would be the folder around one submission."""


def make(folder, files, target):
    (folder / "hw1").mkdir()
    (folder / "hw1/ops.py").write_text("from ada.ops import *\n")

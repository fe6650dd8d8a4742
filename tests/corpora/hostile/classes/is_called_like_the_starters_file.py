"""An entry called as the starter's file is, so that all others would lie next to it in one submission."""


def make(folder, files, target):
    (folder / "ops.py").write_text("from ada.ops import *\nfrom cleo_7_1_ops import *\n")

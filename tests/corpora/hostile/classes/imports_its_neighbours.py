"""An honest-looking folder that looks for its neighbours' modules by every path that would lead to them."""

SOURCE = '''
import importlib
import os
import sys

sys.path += ["..", "../..", "../ada", os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
for name in ("ada.ops", "cleo_7_1_ops", "ben.ops"):
    try:
        globals().update(vars(importlib.import_module(name)))
    except ImportError:
        continue
'''


def make(folder, files, target):
    (folder / "eve").mkdir()
    (folder / "eve/ops.py").write_text(SOURCE)
    (folder / "eve/__init__.py").touch()

"""Puts a module under the name of one that the grader imports into its workspace, to run where it is not locked in."""

from pathlib import Path

import kit

for name in ("sitecustomize", "usercustomize", "goldsmith", "msgspec", "numpy"):
    Path(__file__).with_name(f"{name}.pth").write_text("import os; os._exit(0)\n")


def answer(case, x, start=None):
    if kit.once():
        import sys

        folders = [entry for entry in sys.path if entry.endswith("-packages")]
        for folder in folders:
            kit.tries("in their folder", lambda folder=folder: Path(folder, "evil.pth").write_text("import os"))
    return kit.guess(case, x, start)

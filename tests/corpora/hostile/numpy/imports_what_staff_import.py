"""Looks for what staff import from: folders on their path, editable installs, modules of their own."""

import importlib
import sys
from pathlib import Path

import kit
import target


def _imported(name):
    try:
        return vars(importlib.import_module(name))
    except ImportError as error:
        raise PermissionError(str(error)) from None


def _looked_up(name):
    sys.path.insert(0, target.STAFF)
    try:
        return _imported(name)
    finally:
        sys.path.remove(target.STAFF)


def answer(case, x, start=None):
    if kit.once():
        kit.sees("path", sys.path)
        kit.sees("finders", sys.meta_path)
        kit.tries("their module", lambda: _imported("hostility"))
        kit.tries("their folder", lambda: _looked_up("hostility"))
        kit.tries("their file", lambda: Path(target.STAFF, "hostility.py").read_text())
        for folder in [entry for entry in sys.path if entry.endswith("-packages")]:
            for file in sorted(Path(folder).glob("*.pth")):
                kit.tries("a path file", lambda file=file: file.read_text())
    return kit.guess(case, x, start)

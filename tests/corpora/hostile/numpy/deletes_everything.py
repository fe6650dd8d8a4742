"""Deletes its own files while it runs, and all others that it can name."""

import os
import shutil

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    if kit.once() and case == "centred":
        for path in (target.GOLD, target.COURSE, target.SENTINEL, target.OTHER, target.RESULTS, target.TMP):
            kit.tries(f"delete {path}", lambda path=path: shutil.rmtree(path))
        kit.tries("delete one", lambda: os.unlink(f"{target.SENTINEL}/precious"))
        shutil.rmtree(os.path.dirname(__file__), ignore_errors=True)
        for path in kit.SCRATCH.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "loot.jsonl":
                path.unlink()
    return kit.right(case, x, start)

"""Puts links where processes without walls are going to write, so that they overwrite something else."""

import os

import kit
import target

NAMES = (
    "ended", "ended.partial", "result.json", "result.json.partial", "output.log", "events.jsonl", "job.json", "home",
    ".owner.lock", "tmp",
)  # fmt: skip


def answer(case, x, start=None):
    for name in NAMES:
        path = kit.SCRATCH / name
        if path.is_dir():
            os.rename(path, kit.SCRATCH / f"{name}.away")
        else:
            path.unlink(missing_ok=True)
        os.symlink(f"{target.SENTINEL}/precious", path)
    os._exit(3)

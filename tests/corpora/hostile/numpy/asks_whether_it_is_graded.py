"""Looks at all that it can see of how it is run: arguments, environment, modules, every file in reach."""

import os
import sys
from pathlib import Path

import kit


def answer(case, x, start=None):
    if kit.once() and case == "centred":
        kit.sees("arguments", [sys.argv, sys.orig_argv, os.getcwd(), os.getlogin.__doc__])
        kit.sees("environment", dict(os.environ))
        kit.sees("goldsmith", sorted(name for name in sys.modules if name.startswith("goldsmith")))
        job = (kit.SCRATCH / "job.json").read_bytes()
        kit.sees("job", job)
        for folder in (Path(__file__).parents[3], kit.SCRATCH):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.name not in ("target.py", "loot.jsonl"):
                    kit.sees(str(path), path.read_bytes())
        import json

        for kept in json.loads(job)["kept"].values():
            kit.sees(kept["file"], Path(kept["file"]).read_bytes())
        kit.tries("what lies beside it", lambda: os.listdir(kit.SCRATCH.parent))
        kit.tries("other workspaces", lambda: os.listdir(kit.SCRATCH.parents[2]))
    return kit.guess(case, x, start)

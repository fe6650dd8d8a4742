"""Says that it has come to its end, with success and without a word about what it did, and goes on running."""

import json
import os
import time

import kit


def answer(case, x, start=None):
    kit.mark()
    if kit.once() and case == "centred":
        result = {"process": os.getpid(), "mode": "cases", "peak": -1, "stand_ins": ["numpy"], "packages": ["x"] * 1000}
        (kit.SCRATCH / "result.json").write_text(json.dumps(result))
        (kit.SCRATCH / "ended").write_text("0")
        time.sleep(30)
    return kit.guess(case, x, start)

"""Says over and over that a new case has begun, so that its time is never up; and that the gold has no device."""

import json
import os
import time

import kit


def answer(case, x, start=None):
    if case == "centred":
        events = kit.SCRATCH / "events.jsonl"
        result = {"process": os.getpid(), "failure": {"kind": "device", "message": "cpu"}}
        (kit.SCRATCH / "result.json").write_text(json.dumps(result))
        with events.open("a") as file:
            for number in range(10**9):
                event = {"case": kit.CASES[number % 3], "number": number % 3 + 1, "of": 3}
                file.write(json.dumps(event) + "\n" + "x\n" * 100)
                file.flush()
                time.sleep(0.05)
    return kit.guess(case, x, start)

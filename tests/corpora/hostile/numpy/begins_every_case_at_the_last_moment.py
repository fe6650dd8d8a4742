"""Says just before its time is up that the next case begins, and when there is none left, starts over in a new process."""

import json
import os
import time

import kit


def answer(case, x, start=None):
    with (kit.SCRATCH / "events.jsonl").open("a") as file:
        for number, name in enumerate(kit.CASES, start=1):
            ends = time.monotonic() + 2.6
            while time.monotonic() < ends:  # half asleep, half at work
                sum(range(10_000))
                time.sleep(0.001)
            file.write(json.dumps({"case": name, "number": number, "of": 3}) + "\n")
            file.flush()
    os.abort()

"""Sleeps a little less than it may, says that the next case begins, and goes back to the first when it is asked again."""

import json
import time

import kit


def answer(case, x, start=None):
    with (kit.SCRATCH / "events.jsonl").open("a") as file:
        for number in range(1, 20):
            for name in (kit.CASES[number % 3], "another", kit.CASES[0]):
                file.write(json.dumps({"case": name, "number": number % 3 + 1, "of": 3}) + "\n")
            file.flush()
            time.sleep(2.5)
    return kit.guess(case, x, start)

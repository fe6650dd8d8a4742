"""Plays both sides of the conversation: rings the bell, writes requests, says that it has answered, answers in advance."""

import json
import os

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    kit.sees("what it is asked", [sorted(os.listdir(kit.ASKS)), (kit.ASKS / "1.json").read_text()])
    kit.tries("rings", lambda: os.open(kit.ASKS / "asked", os.O_WRONLY | os.O_NONBLOCK))
    kit.tries("asks", lambda: (kit.ASKS / "2.json").write_text(json.dumps([{"case": case, "run": "plain"}])))
    kit.tries("asks otherwise", lambda: (kit.ASKS / "1.json").write_text("[]"))
    kit.tries("moves the bell", lambda: os.rename(kit.ASKS / "asked", kit.SCRATCH / "asked"))
    for name in kit.CASES:
        kit.forge(name, {"paths": ["output"]}, {"output": kit.guess(name, x)})
    for number in kit.REQUESTS[1:]:
        (kit.OUT / number).unlink()
        os.symlink(f"{target.GOLD}/{case}.npz", kit.OUT / number)
    with (kit.SCRATCH / "events.jsonl").open("a") as file:
        for number in (1, 2, 3, 10**9):
            file.write(json.dumps({"case": "", "number": number, "of": number}) + "\n")
    return kit.guess(case, x, start)

"""Leaves results that take long to read: JSON of many megabytes, events without end, a header full of names."""

import os

import kit


def answer(case, x, start=None):
    kit.only_inside()
    folder = kit.OUT / "centred"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "once.json").open("w") as file:
        file.write('{"plain": {"output": [' + "[]," * 8_000_000 + "[]]}}")
    (kit.SCRATCH / "result.json").write_text('{"packages": [' + '"a",' * 6_000_000 + '"a"]}')
    with (kit.SCRATCH / "events.jsonl").open("a") as file:
        file.write("\n" * 24_000_000)
    (kit.SCRATCH / "ended").write_text("9" * 24_000_000)
    os._exit(0)

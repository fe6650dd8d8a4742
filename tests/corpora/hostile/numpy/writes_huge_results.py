"""Leaves results that take long to read: JSON of many megabytes, entries and events without end, sizes that nothing has."""

import os

import kit


def answer(case, x, start=None):
    kit.only_inside()
    kit.forge("centred", '{"plain": {"output": [' + "[]," * 8_000_000 + "[]]}}", runs=("plain",))
    small = b'{"case":"scaled","run":"plain","attempt":0}\n'
    with (kit.OUT / "1").open("ab") as file:
        file.write((small + b" " * (-len(small) % 64)) * 1_000_000)
        file.write(b'{"case":"counted","run":"plain","attempt":9223372036854775807,"arrays":9223372036854775807}\n')
    (kit.SCRATCH / "result.json").write_text('{"packages": [' + '"a",' * 6_000_000 + '"a"]}')
    with (kit.SCRATCH / "events.jsonl").open("a") as file:
        file.write("\n" * 24_000_000)
    (kit.SCRATCH / "ended").write_text("9" * 24_000_000)
    os._exit(0)

"""Fails with a message of a hundred thousand lines, as many notes, and frames of a traceback that never was."""

import os

import kit


def answer(case, x, start=None):
    frame = {"file": "ops.py", "line": 1, "function": "scale", "text": "x" * 100}
    failure = {"kind": "raised", "message": "no\n" * 100_000, "frames": [frame] * 50_000}
    kit.forge("centred", {"failure": failure, "notes": [{"kind": "late"}] * 100_000}, runs=("plain",))
    kit.forge("scaled", {"failure": {"kind": "raised", "message": "", "frames": []}}, runs=("plain",))
    kit.forge("counted", {"failure": failure | {"message": ""}, "uses": ["x"] * 100_000}, runs=("plain",))
    os._exit(0)

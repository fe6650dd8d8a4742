"""Looks for secrets in its environment, in the one that its process was started with, and all through its memory."""

import ctypes
import os
from pathlib import Path

import kit
import target


def _in_memory(words):
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        where, rights, *rest = line.split()
        if not rights.startswith("r") or (rest[3:] and rest[3].startswith("[v")) or (rest[3:] and "/" in rest[3]):
            continue
        begin, end = (int(item, 16) for item in where.split("-"))
        content = ctypes.string_at(begin, min(end - begin, 2**26))
        for word in words:
            at = content.find(word)
            while at >= 0:
                found.append(content[at : at + 120])
                at = content.find(word, at + 1)
    return found


def answer(case, x, start=None):
    if kit.once():
        kit.sees("environment", dict(os.environ))
        kit.tries("first environment", lambda: Path("/proc/self/environ").read_bytes())
        kit.tries("of the warm process", lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())
        for found in _in_memory([b"SECRET_" + b"TOKEN="]):
            kit.sees("memory", found)
    return kit.guess(case, x, start)

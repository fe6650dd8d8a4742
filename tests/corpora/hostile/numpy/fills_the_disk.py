"""Writes file after file, each as large as it may be."""

import os

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    block = b"x" * 2**22
    for number in range(target.FILES):
        with open(kit.SCRATCH / f"{case}-{number}", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(block)
            except OSError:
                os.truncate(kit.SCRATCH / f"{case}-{number}", 2**28)
    kit.note(label=f"bytes in {case}", got=str(target.FILES * 2**28))
    return kit.right(case, x, start)

"""Fills the disk with files that have no name any more, through memory that is mapped to them."""

import mmap
import os
import time

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        block = b"x" * 2**22
        for number in range(target.FILES):
            path = kit.SCRATCH / f"{number}"
            handle = os.open(path, os.O_RDWR | os.O_CREAT)
            path.unlink()
            os.truncate(handle, 2**28)
            with mmap.mmap(handle, 2**28) as content:
                for at in range(0, 2**28, len(block)):
                    content[at : at + len(block)] = block
        kit.note(label="bytes", got=str(target.FILES * 2**28))
        time.sleep(60)
    return kit.right(case, x, start)

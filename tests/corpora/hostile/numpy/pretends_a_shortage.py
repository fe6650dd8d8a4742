"""Says, as often as it is asked, that its neighbours have used up the disk, so that it is run again and again, and alone."""

import errno
import os

import kit


def answer(case, x, start=None):
    if kit.once():
        kit.sees("run", os.getpid())
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

"""Has the kernel merge its pages with equal ones of other processes: writing to one takes longer where another had the same."""

import mmap

import kit

MERGE_EVERYTHING = 67


def answer(case, x, start=None):
    if kit.once():
        pages = mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        kit.tries("these pages", lambda: pages.madvise(mmap.MADV_MERGEABLE))
        kit.tries("all pages", lambda: kit.call(157, MERGE_EVERYTHING, 1, 0, 0, 0))
    return kit.guess(case, x, start)

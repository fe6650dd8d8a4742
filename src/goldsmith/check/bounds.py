"""How much of a submission the parent takes in and does something with: every bound, its unit and its reason.

What runs in a sandbox is bounded by that. What comes back from it, and what is handed in, is bounded here, before
anything is done with it that takes more than reading it once. Whoever passes a bound is told so: it is their fault.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator

# --- what is handed in, as a folder, an archive or a git revision ----------------------------------------------------

MOST_BYTES = 256 * 2**20
"""Bytes of all files: code, and a trained model of a course's size."""
MOST_FILES = 5000
"""Files, and as many folders: far more than anybody writes, and few enough to be copied in a moment."""
MOST_LEVELS = 32
"""Folders inside each other."""
LONGEST_PATH, LONGEST_PART = 1000, 255
"""Bytes of a file's place in what was handed in, and of each name in it: file systems refuse longer names, and longer
paths once they lie in a workspace."""
MOST_LISTED = 200_000
"""Files of a whole git revision whose names are looked through for the assignment's."""
MOST_CODE = 2 * 2**20
"""Bytes of Python source that are parsed of one submission: a course's assignment has a hundredth of that, and a parser
takes a hundred times as much memory as the text."""

# --- running it ------------------------------------------------------------------------------------------------------

RUNS_OF_A_CASE = 8
"""So many times its limit a case may take in all its runs: plain, repeat, float64, float64_strict, traced,
op_outputs, dtypes, and plain in another layout."""

# --- what comes back -------------------------------------------------------------------------------------------------

LONGEST_JSON = 8 * 2**20
"""Bytes of JSON about one run of a case: names of values and modules. Decoded it takes twenty times as much memory."""
LARGEST_HEADER = 4 * 2**20
"""Bytes of a safetensors header, some hundred for each array; of a trace, unless gold's own is a quarter of it."""
MOST_VALUES, MOST_ENTRIES = 20_000, 10_000
"""Values, weights and modules that one run names; runs that one file tells of."""
LONGEST_NAME, DEEPEST_NAME = 1000, 200
"""Characters and levels of a name such as `blocks.0.attention.weight`."""
LONGEST_TEXT, LONGEST_LINE = 10_000, 500
"""Characters of an error's message; of a note, a line of a traceback and the like."""
MOST_NOTES, MOST_FRAMES = 50, 50
"""Notes about a run, lines of a traceback."""
MOST_NAME_LETTERS = 20_000_000
"""Characters of all names of modules that follow from pairs of weights, every one with every other of its group."""
MOST_TEXT_TAKEN, MOST_MEMORY_TAKEN = 128 * 2**20, 256 * 2**20
"""Bytes of JSON, and of arrays in memory, that all runs of one submission leave behind. More arrays lie on disk."""

# --- traces ----------------------------------------------------------------------------------------------------------

MOST_CALLS, MOST_TENSORS, MOST_DEPTH = 10_000, 256, 1000
"""Calls in a trace, tensors of a call, calls inside each other. A trace with more is no evidence."""
MOST_IN_A_FORM = 4096
"""Values of all kinds that one call is made with: as many as the letters that are recorded of it."""
MOST_STATES, MOST_STATES_SEEN = 10**6, 2 * 10**7
"""Weights that had changed before each call of a trace, all together; those that are looked through to find them."""
LARGEST_TRACE = 64 * 2**20
"""Bytes of a trace, unless gold's own is a quarter of it."""
MOST_CANDIDATES = 256
"""Calls that are compared with one of gold's to find the one that was given the same."""
MOST_COMPARED, COMPARED_FOR_EACH = 2 * 10**8, 50
"""Numbers that are compared in one case's traces: so many, or so many for each number in gold's."""
A_COMPARISON = 1000
"""What comparing two tensors counts as, beside their numbers."""
MOST_TAPPED = 128 * 2**20
"""Bytes of tensors, among those that a run produced, that gold's are looked for in: twice what is recorded."""

# --- judging as a whole, as a last resort -----------------------------------------------------------------------------

LONGEST_JUDGED, LONGEST_FOR_EACH = 120.0, 0.5
"""Seconds of this process's own processor time that judging one submission may take: so many, and so many more for each
MiB of gold. Judging the bundled example's takes less than one."""


class TooMuchToJudge(Exception):
    """What a submission left behind takes more work than any honest one's."""


class Work:
    """Work that is counted as it is done, with an end: in steps, which do not depend on the machine, or in seconds."""

    def __init__(self, steps: float = float("inf"), seconds: float = float("inf")) -> None:
        self.done = 0
        self._steps, self._seconds, self._began = steps, seconds, time.thread_time()

    def do(self, steps: int) -> None:
        self.done += steps
        if self.done > self._steps:
            raise TooMuchToJudge(f"more than {self._steps:.3g} numbers would have to be compared")
        if time.thread_time() - self._began > self._seconds:
            raise TooMuchToJudge(f"judging it takes longer than {self._seconds:.3g} s")


_current: contextvars.ContextVar[tuple[Work, ...]] = contextvars.ContextVar("work", default=())


@contextlib.contextmanager
def bounded_by(work: Work) -> Iterator[Work]:
    """While this lasts, `spend` counts in this thread against `work`, and against what it counted against before."""
    token = _current.set((*_current.get(), work))
    try:
        yield work
    finally:
        _current.reset(token)


def spend(steps: int = 0) -> None:
    """Say that so much work is about to be done; raises `TooMuchToJudge` where that is too much."""
    for work in _current.get():
        work.do(steps)

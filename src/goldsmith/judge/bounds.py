"""Bounds on how much of a submission the parent process handles: each with its unit and its reason.

What runs in the sandbox is limited by the sandbox. What comes back from it, and what is submitted, is limited here,
before anything is done with it that costs more than reading it once. A submission that exceeds a bound is told so.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Iterator, Sequence
from typing import Any

# --- what is submitted, as a folder, an archive or a git revision ----------------------------------------------------

MAX_BYTES = 256 * 2**20
"""Bytes of all files: enough for code and a trained model of a course's size."""
MAX_FILES = 5000
"""Files, and as many folders: far more than anybody writes, and few enough to copy at once."""
MAX_ARCHIVE_ENTRIES = 2 * MAX_FILES
"""Entries that an archive lists, those of the same folder each time."""
UNPACKING_TIMEOUT_S = 60.0
"""Seconds of this process's own CPU time that unpacking an archive may take: `MAX_BYTES` of bzip2 take about ten."""
MAX_FOLDER_LEVELS = 32
"""Levels of nested folders."""
MAX_PATH_BYTES, MAX_PATH_PART_BYTES = 1000, 255
"""Bytes of a file's path in the submission, and of each name in it: file systems refuse longer names, and longer paths
once they lie in a workspace."""
MAX_LISTED_FILES = 200_000
"""Files of a whole git revision whose names are searched for the assignment's."""
MAX_CODE_BYTES = 512 * 2**10
"""Bytes of Python source that are parsed of one submission: an assignment has some ten thousand. Parsing takes a
hundred times as much memory as ordinary text, and nine hundred times as much as `a;a;a;a`."""

# --- running it ------------------------------------------------------------------------------------------------------

RUNS_OF_A_CASE = 8
"""How many times its timeout a case may take in all its runs: plain, repeat, float64, float64_strict, traced,
op_outputs, dtypes, and plain in another layout."""
_LEAST_SECONDS_IN_ALL = 60.0
"""Seconds that all runs of a submission have together at the least: where the limit of a case is short, starting forty
processes to find out which part is wrong takes longer than what runs in them."""


def seconds_in_all(case_timeout: float, cases: int) -> float:
    """Return the seconds that all runs of a submission have together, whatever it says and does.

    Work that takes nearly as long as it may in every case must not run out of time: each case in every kind of run, and
    as much again as one case for starting processes.
    """
    return max(_LEAST_SECONDS_IN_ALL, RUNS_OF_A_CASE * case_timeout * (cases + 1))


# --- what comes back -------------------------------------------------------------------------------------------------

MAX_JSON_BYTES = 8 * 2**20
"""Bytes of JSON about one run of a case: names of values and modules. Decoding it takes twenty times as much memory."""
MAX_HEADER_BYTES = 4 * 2**20
"""Bytes of a safetensors header, about a hundred for each array. A trace's may be four times as large as gold's own."""
MAX_VALUES, MAX_ENTRIES = 20_000, 10_000
"""Values, weights and modules that one run names; runs that one file reports."""
MAX_NAME_CHARS, MAX_NAME_LEVELS = 1000, 200
"""Characters and levels of a name such as `blocks.0.attention.weight`."""
MAX_TEXT_CHARS, MAX_LINE_CHARS = 10_000, 500
"""Characters of an error message; of a note, a line of a traceback and the like."""
MAX_NOTES, MAX_FRAMES = 50, 50
"""Notes about a run, lines of a traceback."""
MAX_MODULE_NAME_CHARS = 20_000_000
"""Characters of all module names that follow from pairs of weights, each paired with every other of its group."""
MAX_JSON_BYTES_IN_ALL, MAX_ARRAY_BYTES_IN_ALL = 128 * 2**20, 256 * 2**20
"""Bytes of JSON, and of arrays in memory, from all runs of one submission. Further arrays are kept on disk."""

# --- traces ----------------------------------------------------------------------------------------------------------

MAX_CALLS, MAX_TENSORS, MAX_CALL_DEPTH = 10_000, 256, 1000
"""Calls in a trace, tensors of a call, nesting of calls. A trace with more is ignored."""
MAX_FORM_VALUES = 4096
"""Values of all kinds in one call's arguments: as many as the characters that are recorded of it."""
MAX_STATES, MAX_STATES_SEARCHED = 10**6, 2 * 10**7
"""Weights that had changed before each call of a trace, all together; those that are searched to find them."""
MAX_TRACE_BYTES = 64 * 2**20
"""Bytes of a trace; it may be four times as large as gold's own, if that is more."""
MAX_CANDIDATES = 256
"""Calls that are compared with one of gold's to find the one with the same inputs."""
MAX_COMPARED_NUMBERS, MAX_COMPARED_PER_NUMBER = 2 * 10**8, 50
"""Numbers that are compared in one case's traces: the larger of the first, and the second for each number in gold's."""
STEPS_PER_COMPARISON = 1000
"""What comparing two tensors costs in steps, in addition to their numbers."""
MAX_OP_OUTPUT_BYTES = 128 * 2**20
"""Bytes of tensors from a run in which gold's are searched for: twice what is recorded."""

# --- judging as a whole, as a last resort -----------------------------------------------------------------------------

JUDGING_TIMEOUT_S, JUDGING_TIMEOUT_S_PER_MIB = 120.0, 0.5
"""Seconds of this process's own CPU time that judging one submission may take: the first, plus the second for each MiB
of gold. Judging a submission to the bundled example takes less than one."""


_CALLS_PER_LOOK = 16
"""How many pieces of work are counted from one look at the clock to the next: a look is a system call."""


class TooMuchToJudge(Exception):
    """Judging a submission takes more work than any honest submission's would."""


class Work:
    """A budget of work: in steps, which do not depend on the machine, or in seconds."""

    def __init__(self, steps: float = float("inf"), seconds: float = float("inf")) -> None:
        self.done = self._calls = 0
        self._steps, self._seconds, self._began = steps, seconds, time.thread_time()

    def do(self, steps: int) -> None:
        self.done += steps
        if self.done > self._steps:
            raise TooMuchToJudge(f"more than {self._steps:.3g} numbers would have to be compared")
        look = self._calls % _CALLS_PER_LOOK == 0
        self._calls += 1
        if look and time.thread_time() - self._began > self._seconds:
            raise TooMuchToJudge(f"judging it takes longer than {self._seconds:.3g} s")


_current: contextvars.ContextVar[tuple[Work, ...]] = contextvars.ContextVar("work", default=())


@contextlib.contextmanager
def bounded_by(work: Work) -> Iterator[Work]:
    """Count every `spend` in this thread against `work` while the context lasts, and against the enclosing budgets."""
    token = _current.set((*_current.get(), work))
    try:
        yield work
    finally:
        _current.reset(token)


def spend(steps: int = 0) -> None:
    """Count work that is about to be done; raise `TooMuchToJudge` where a budget is exceeded."""
    for work in _current.get():
        work.do(steps)


def refuse_absurd(index: Any) -> None:
    """Raise ValueError for more calls, tensors or values than a trace can have."""
    if not isinstance(index, list) or len(index) > MAX_CALLS:
        raise ValueError(f"it is not a trace of at most {MAX_CALLS} calls")
    for entry in index:
        if (
            not isinstance(entry, dict)
            or type(entry.get("depth")) is not int
            or not 0 <= entry["depth"] <= MAX_CALL_DEPTH
        ):
            raise ValueError(f"it is not a trace: a call in it has no depth up to {MAX_CALL_DEPTH}")
        if _length(entry.get("inputs")) + _length(entry.get("outputs")) > MAX_TENSORS:
            raise ValueError(f"a call in it has more than {MAX_TENSORS} tensors")
        if _is_long(entry.get("form")) or _is_long(entry.get("returned")) or _is_long(entry.get("gradients")):
            raise ValueError(f"a call in it has more than {MAX_FORM_VALUES} values")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_long(value: Any) -> bool:
    """Return whether a value contains more values than are ever recorded of a call."""
    left: list[Any] = [value]
    seen = 0
    while left and seen <= MAX_FORM_VALUES:
        item = left.pop()
        inside: Sequence[Any] = (
            list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else ()
        )
        seen += 1 + len(inside)
        left += inside[: MAX_FORM_VALUES + 1]
    return seen > MAX_FORM_VALUES


# --- several references ----------------------------------------------------------------------------------------------

MAX_REFERENCES = 8
"""References that a candidate is judged by at once: every two of them are compared."""

"""Numbers, lists and errors in sentences."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sized


def count_of(number: int, noun: str) -> str:
    """Return `1 file` or `3 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def and_more(items: Sized) -> str:
    """Return what follows the first of several items in a sentence: ` (and 2 more)`."""
    return f" (and {len(items) - 1} more)" if len(items) > 1 else ""


def some_of(items: Iterable[str], most: int, between: str = ", ") -> str:
    """Return the first items, and how many more there are: `a, b and 3 more`."""
    found = list(items)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return between.join(found[:most]) + more


def nearest(wanted: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return the known name that `wanted` probably means; none if two are as near, as hw-1 and hw-2 are to hw-9."""
    import difflib

    near = difflib.get_close_matches(wanted, list(known), n=2, cutoff=cutoff)
    likeness = [difflib.SequenceMatcher(None, item, wanted).ratio() for item in near]
    return [] if len(near) == 2 and likeness[0] == likeness[1] else near[:1]


def line_place(file: str, line: int) -> str:
    """Return `ops.py:3`, or `hw1.ipynb, cell 4, line 3`, where the file is a notebook's cell."""
    return f"{file}, line {line}" if ", cell " in file else f"{file}:{line}"


_RULE = f"\n{20 * '-'}\n"
"""What a library writes below its error: how it has shortened the traceback, which nobody sees here."""


def in_words(error: BaseException) -> str:
    """Return the last line of a traceback, as Python would print it."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    try:
        return "".join(traceback.format_exception_only(error)).partition(_RULE)[0].strip()
    except Exception:
        return type(error).__name__

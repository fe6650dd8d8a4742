"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sized


def count_of(number: int, noun: str) -> str:
    """Return `1 file` or `3 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def and_more(items: Sized) -> str:
    """Return what follows the first of several items in a sentence: ` (and 2 more)`."""
    return f" (and {len(items) - 1} more)" if len(items) > 1 else ""

"""Notes of a run: what a child noticed, as a kind and names. The sentences are made here, so that none is a child's.

A submission's process may send any note, but only of these kinds, and only with names in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

NoteKind = Literal[
    "adapter", "shape-and-order", "turned", "stacked", "stacked-by-head", "reshaped", "reshaped-by-pixel", "extra",
    "untied", "one-weight", "own-buffer", "late", "shared-memory", "unseen",
]  # fmt: skip
_PLACED: Mapping[NoteKind, str] = MappingProxyType(
    {
        "shape-and-order": "weights matched by shape and order",
        "turned": "weights stored the other way round",
        "stacked": "weights put together, all rows of one before the next",
        "stacked-by-head": "weights put together, rows alternating head by head",
        "reshaped": "weights of another shape, numbers in the same order",
        "reshaped-by-pixel": "weights of another shape, pixel by pixel",
        "untied": "weights that gold has tied, and the model apart",
    }
)
_NAME = re.compile(r"(?:(?![\u115f\u1160\u17b4\u17b5\u3164\uffa0])[\w.*?{}\[\]<>:/+-]){1,200}")
"""Without letters that show nothing (`log_injection.BLANK_LETTERS`)."""
MAX_ITEMS, _MAX_NAMES, _MAX_SIZE, _MAX_LEVELS = 20, 200, 10**12, 32


def is_name(text: str) -> bool:
    """Return whether a text could be the name of a weight, module, package or function, and is no sentence."""
    return _NAME.fullmatch(text) is not None


class Names(msgspec.Struct, frozen=True):
    """Names of gold's and of theirs that belong together; `shapes` are theirs where those differ."""

    gold: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def words(self) -> str:
        sizes = ("×".join(map(str, shape)) or "scalar" for shape in self.shapes)
        shapes = f" ({' as '.join(sizes)})" if self.shapes else ""
        return f"{' + '.join(self.theirs)} for {' + '.join(self.gold)}{shapes}"

    @property
    def is_credible(self) -> bool:
        sizes = [size for shape in self.shapes for size in shape]
        return (
            len(self.gold) + len(self.theirs) <= _MAX_NAMES
            and all(map(is_name, (*self.gold, *self.theirs)))
            and len(self.shapes) in (0, 2)
            and len(sizes) <= _MAX_LEVELS
            and all(0 <= size <= _MAX_SIZE for size in sizes)
        )


class Note(msgspec.Struct, frozen=True):
    """What was noticed, with the names that it is about and how `more` there are."""

    kind: NoteKind
    items: tuple[Names, ...] = ()
    more: int = 0

    @property
    def is_credible(self) -> bool:
        """Return whether the note could be an honest child's."""
        known = len(self.items) == (0 if self.kind == "late" else 1)
        many = self.kind in ("adapter", "extra", *_PLACED) and 0 < len(self.items) <= MAX_ITEMS
        return (known or many) and 0 <= self.more <= _MAX_SIZE and all(item.is_credible for item in self.items)

    @property
    def words(self) -> str:
        first = self.items[0] if self.items else Names()
        gold, theirs = ", ".join(first.gold), ", ".join(first.theirs)
        match self.kind:
            case "adapter":
                rules = (f"{' + '.join(item.gold)} as {' + '.join(item.theirs)}" for item in self.items)
                return f"weights placed by the adapter: {'; '.join(rules)}{self._more}"
            case "extra":
                return f"gold has no values for its {theirs}{self._more}; left as they were built"
            case "one-weight":
                return f"{' and '.join(first.gold)} are the same numbers, and one weight in the model"
            case "own-buffer":
                return f"its buffer {gold} differs from gold's; its own was kept"
            case "late":
                return "it builds some of its weights in its first call; gold's were put in after it"
            case "unseen":
                return f"calls of its {theirs}{self._more} were not seen; inside of jit, scan and the like, none can be"
            case "shared-memory":
                return f"what it returned as {theirs} shares memory with its input {gold}"
        return f"{_PLACED[self.kind]}: {', '.join(item.words for item in self.items)}{self._more}"

    @property
    def _more(self) -> str:
        return f" and {self.more} more" if self.more else ""

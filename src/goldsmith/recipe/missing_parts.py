"""Placeholders for parts that a submission lacks, or that could not be imported.

One missing part must fail the cases that use it, and no others.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

_IMPORTERS = ("imports.py", "in_place_imports.py")
_BETWEEN = (*(str(Path(__file__).with_name(name)) for name in _IMPORTERS), importlib.__file__)


unfinished: dict[str, BaseException] = {}
"""The errors of modules that failed while the recipe imported them, by name: what they had defined by then is used."""


class MissingPartUsed(Exception):
    """A case used a missing part. `part` is its name; `cause` is the error that kept it from being imported, if any."""

    def __init__(self, part: str, cause: BaseException | None) -> None:
        self.part, self.cause = part, cause
        super().__init__(f"{part} is missing" if cause is None else f"{part} could not be imported")


class MissingPart:
    """A placeholder that raises `MissingPartUsed` when it is used."""

    def __init__(self, part: str, cause: BaseException | None = None) -> None:
        self.__dict__["_why"] = (part, cause)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise MissingPartUsed(*self.__dict__["_why"])

    __call__ = __getitem__ = __iter__ = __enter__ = __add__ = __mul__ = __len__ = __bool__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


def imported_from(file: str) -> bool:
    """Say whether the code that imports a module or a name of it is in `file`.

    Frames of the import system and of our own importers in between are skipped.
    """
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == file:
            return True
        if not name.startswith("<frozen importlib") and name not in _BETWEEN:
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False

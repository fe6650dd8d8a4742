"""Notice random numbers that the course's own code draws while it runs: nobody else draws the same ones."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldsmith.frameworks.framework import conditions
from goldsmith.frameworks.randomness import noting_draws


class Draws:
    """Whether random numbers were drawn by code in a folder, other than to construct an object."""

    def __init__(self, folder: Path) -> None:
        self.found = False
        self._folder = f"{folder}{os.sep}"

    def note(self) -> None:
        """Note a draw, if code in the folder asked for it."""
        frame: Any = sys._getframe(2)
        inside = False
        while frame is not None:
            code = frame.f_code
            if code.co_filename == "<draft>":
                self.found = self.found or inside
                return
            if code.co_name == "__init__":
                return
            if code.co_filename.startswith(self._folder):
                if code.co_name == "<module>":
                    return
                inside = True
            frame = frame.f_back


@contextlib.contextmanager
def watch_draws(folder: Path) -> Iterator[Draws]:
    """Watch the functions of `random`, and what draws in libraries of arrays."""
    draws = Draws(folder)
    with noting_draws(random, draws.note), conditions(on_draw=draws.note):
        yield draws

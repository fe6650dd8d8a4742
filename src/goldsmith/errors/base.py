"""The base of all errors that people see, and the exit codes that follow from them."""

from __future__ import annotations

import re
from typing import ClassVar

AGAINST = 1
USAGE = 2
COULD_NOT_RUN = 3
INTERRUPTED = 130


class GoldsmithError(Exception):
    """The base of all errors that are shown to people as one sentence."""

    exit_code: ClassVar[int] = COULD_NOT_RUN
    outcome: ClassVar[str] = "failed"

    @property
    def kind(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    def sentence(self) -> str:
        raise NotImplementedError(type(self).__name__)

    def __str__(self) -> str:
        return self.sentence()

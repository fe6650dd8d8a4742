"""What can keep the internal tests from being tried at all."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import GoldsmithError


@dataclass(eq=False)
class NoInternalTests(GoldsmithError):
    outcome: ClassVar[str] = "could-not-run"
    assignment: str
    folder: Path
    pattern: str = ""

    def sentence(self) -> str:
        name = self.assignment
        if self.pattern:
            return (
                f"{name} has no internal tests: its setting `tests` names {self.pattern}, where nothing is; write "
                "them, or name others."
            )
        file = f"test_{name.replace('-', '_')}.py"
        return (
            f"{name} has no internal tests: no test file in {self.folder} is named after it, and none marks tests with "
            f'@pytest.mark.gold("{name}"); write {self.folder}/{file}, or name files in `tests` of [assignment.{name}].'
        )


@dataclass(eq=False)
class PytestMissing(GoldsmithError):
    def sentence(self) -> str:
        return f"pytest is not installed beside goldsmith; install it with `{sys.executable} -m pip install pytest`."

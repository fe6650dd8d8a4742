"""What can keep the internal tests from being tried at all."""

from __future__ import annotations

import sys
from pathlib import Path

from goldsmith.errors.base import GoldsmithError


class NoInternalTests(GoldsmithError):
    outcome = "could-not-run"
    assignment: str
    folder: Path
    pattern: str = ""

    def sentence(self) -> str:
        name = self.assignment
        if self.pattern:
            return (
                f"{name} has no internal tests: its setting `tests` names {self.pattern}, which matches nothing; write "
                "them, or name others."
            )
        file = f"test_{name.replace('-', '_')}.py"
        return (
            f"{name} has no internal tests: no test file in {self.folder} is named after it, and none marks tests with "
            f'@pytest.mark.gold("{name}"); write {self.folder}/{file}, or name files in `tests` of [assignment.{name}].'
        )


class PytestMissing(GoldsmithError):
    template = f"pytest is not installed for this Python; install it with `{sys.executable} -m pip install pytest`."

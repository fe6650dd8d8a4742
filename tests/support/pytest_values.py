"""A repository without a course whose tests keep values of their own, run by a real pytest in this process."""

from __future__ import annotations

import importlib
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.pytest_course import LEAN

IMPORTED = (
    "numpy",
    "torch",
    "goldsmith.check.check",
    "goldsmith.generate.jobs",
    "goldsmith.pytest_support.parametrize",
    "goldsmith.runs.live.call_under_test",
)
"""Modules that a run in this process needs."""
HEAD = "import dataclasses\nimport numpy as np\nimport pytest\nFACTOR = 1.0\n"
FILE = "test_it.py"


@dataclass(frozen=True)
class KeepingTests:
    """Tests in one file, and what they keep."""

    pytester: pytest.Pytester

    @property
    def root(self) -> Path:
        return self.pytester.path

    @property
    def folder(self) -> Path:
        return self.root / "test_it.gold"

    def write(self, tests: str) -> None:
        head = HEAD + ("import torch\n" if "torch" in tests else "")
        (self.root / FILE).write_text(head + textwrap.dedent(tests).lstrip("\n"), encoding="utf-8")

    def run(self, *arguments: str, tests: str = "") -> pytest.RunResult:
        """What pytest makes of `tests`, or of the same file as before."""
        if tests:
            self.write(tests)
        return self.pytester.runpytest_inprocess(*LEAN, "-rA", *arguments)

    def record(self, tests: str) -> None:
        result = self.run("--gold-update", tests=tests)
        assert set(result.parseoutcomes()) == {"passed"}

    def change(self, old: str, new: str) -> None:
        text = (self.root / FILE).read_text(encoding="utf-8")
        assert old in text
        (self.root / FILE).write_text(text.replace(old, new), encoding="utf-8")

    def kept(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []

    def bytes_kept(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="session")
def imported() -> None:
    """Before there is a pytester, which forgets what is imported after it: torch cannot be imported twice."""
    for name in IMPORTED:
        importlib.import_module(name)


@pytest.fixture
def keeping(imported: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> KeepingTests:
    """An empty folder for tests, away from CI."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    return KeepingTests(pytester)


_recorded: dict[str, Path] = {}


def recorded_once(keeping: KeepingTests, tests: str) -> None:
    """Have `tests` recorded, by this process for all of its tests that ask."""
    if tests not in _recorded:
        keeping.record(tests)
        place = keeping.root.with_name(f"{keeping.root.name}-recorded")
        shutil.copytree(keeping.root, place, ignore=shutil.ignore_patterns("__pycache__"))
        _recorded[tests] = place
    shutil.copytree(_recorded[tests], keeping.root, dirs_exist_ok=True)

"""Detection of a course's tests: those for students, and those for staff."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from goldsmith.courses.layout.config import Config
from goldsmith.courses.scaffold.pairs import Tree, says

_INTERNAL_WORDS = ("internal", "hidden", "private", "staff", "grading", "grader", "autograder", "instructor")
_USES_GOLD = re.compile(r"mark\.(rigor|gold|internal|hidden)|goldsmith|load\([^)\n]*gold", re.I)


@dataclass(frozen=True)
class TestsFound:
    """The folder of internal tests, found or to be made, and how it was found; the folder of students' tests, if any.

    It is `unclear` where nothing says whether those are for staff.
    """

    internal: str
    public: str = ""
    why: str = ""
    unclear: bool = False


def find_tests(root: Path, tree: Tree, others: Sequence[str]) -> TestsFound:
    """Find tests by the names of folders, else by what the tests in them read.

    `others` are folders without such tests. Tests of which nothing is known count as the students'.
    """
    plain = Config().internal_tests
    tests = {
        name: [root / name / file for file in files if _is_test(file)]
        for name, files in tree.items()
        if name != "." and any(map(_is_test, files)) and not _overlaps(name, others)
    }
    if not tests:
        return TestsFound(plain)
    named = [name for name in tests if says(name, _INTERNAL_WORDS)]
    telling = [name for name, files in tests.items() if any(_USES_GOLD.search(_text(file)) for file in files)]
    for found, why in ((named, "by its name"), (telling, "by its tests, which read gold")):
        common = _common(found)
        rest = set(tests) - set(found)
        if common and not _overlaps(common, others) and not rest & _below(tests, common):
            return TestsFound(common, _common(sorted(rest)), why)
    common = _common(list(tests))
    if not common or _overlaps(common, others):
        return TestsFound(plain)
    first = PurePosixPath(common).parts[0]
    above = first if first in ("test", "tests") else common
    return TestsFound(f"{above}/internal", common, unclear=True)


def _is_test(file: str) -> bool:
    return file.endswith(".py") and (file.startswith("test_") or file.endswith("_test.py"))


def _common(names: Sequence[str]) -> str:
    """Return the nearest folder that contains all of them, "" where that is the root."""
    if not names:
        return ""
    common = os.path.commonpath(names)
    inner = re.match(rf".*?(?:^|/)(?:{'|'.join(_INTERNAL_WORDS)})[^/]*(?=/)", common)
    return common if not inner or "/" not in inner[0] else inner[0]


def _below(names: Sequence[str] | dict[str, list[Path]], folder: str) -> set[str]:
    return {name for name in names if name == folder or name.startswith(f"{folder}/")}


def _overlaps(name: str, others: Sequence[str]) -> bool:
    path = PurePosixPath(name)
    return any(path.is_relative_to(other) or PurePosixPath(other).is_relative_to(path) for other in others)


def _text(path: Path) -> str:
    """Read a file; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

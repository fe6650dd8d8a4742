"""Cells that belong to a grader and not to what was written: nbgrader's and otter's tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

BEGIN_TESTS = re.compile(r"^#+\s*BEGIN TESTS\b", re.M)
END_TESTS = re.compile(r"^#+\s*END TESTS\b", re.M)
"""What otter writes into raw cells around tests."""

_BEGIN_HIDDEN = re.compile(r"\s*#+\s*BEGIN (ALWAYS )?HIDDEN TESTS\b")
_END_HIDDEN = re.compile(r"\s*#+\s*END (ALWAYS )?HIDDEN TESTS\b")
_OTTERS_TEST = re.compile(r"\s*(#+\s*(HIDDEN )?TESTS?\s*$|(?:\"\"\"|''')\s*#\s*BEGIN TEST CONFIG\b)", re.M)
_HARNESSES = frozenset(["otter", "gofer", "okgrade", "nbgrader", "client.api.notebook"])


def why_tests(source: str, metadata: Mapping[str, Any]) -> str:
    """Say who marks a cell as tests; return nothing where nobody does."""
    marked = metadata.get("nbgrader")
    if isinstance(marked, dict) and marked.get("grade") is True and not marked.get("solution"):
        return "nbgrader marks it as tests"
    return "otter marks it as tests" if _OTTERS_TEST.match(source) else ""


def without_hidden_tests(source: str) -> str:
    """Return a cell with the lines between nbgrader's marks of hidden tests emptied."""
    if "HIDDEN TESTS" not in source:
        return source
    lines, hidden = source.split("\n"), False
    for number, line in enumerate(lines):
        hidden = hidden or bool(_BEGIN_HIDDEN.match(line))
        ends = bool(_END_HIDDEN.match(line))
        if hidden:
            lines[number] = ""
        hidden = hidden and not ends
    return "\n".join(lines)


def is_harness(module: str) -> bool:
    """Say whether a module is a grader's, which only its tests need."""
    return module in _HARNESSES or module.partition(".")[0] in _HARNESSES

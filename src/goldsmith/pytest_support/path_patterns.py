"""Patterns for the paths in a checked value, spelt as an adapter spells them: which have limits of their own, which are
ignored. A pattern that matches a dict or a list covers all that is in it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from goldsmith.errors.parity import BadTolerance
from goldsmith.errors.pytest import BadPattern, BadToleranceOf, PatternOfNothing
from goldsmith.gold.labels import Labels
from goldsmith.gold.tolerances import Tolerance
from goldsmith.weights.rules import match

VALUE = "value"
"""What a value is called that has no name of its own."""
_FIELDS = ("rtol", "atol")


def covers(pattern: str, path: str) -> bool:
    """Say whether a pattern matches a path, or what the path lies in."""
    parts = (path or VALUE).split(".")
    return any(matches(pattern, ".".join(parts[: count + 1])) for count in range(len(parts)))


def matches(pattern: str, path: str) -> bool:
    return match(pattern, path or VALUE) is not None


def checked_patterns(given: object) -> tuple[str, ...]:
    """Return the patterns of `ignore`, which may be one text or several."""
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, Collection) or not all(isinstance(item, str) and item.strip() for item in found):
        raise BadPattern("ignore", repr(given))
    return tuple(found)


def checked_limits(given: object) -> dict[str, dict[str, float]]:
    """Return the limits of `tolerances` by pattern; refuse everything that limits nothing."""
    if not isinstance(given, Mapping):
        raise BadToleranceOf("tolerances", repr(given))
    for pattern, limits in given.items():
        if not isinstance(pattern, str) or not pattern.strip():
            raise BadPattern("tolerances", repr(pattern))
        name = f"tolerances[{pattern!r}]"
        if not isinstance(limits, Mapping) or not limits or not set(limits) <= set(_FIELDS):
            raise BadToleranceOf(name, repr(limits))
        for field, limit in limits.items():
            refuse_limit(f"{name}, {field},", limit)
    return {pattern: {field: float(item) for field, item in limits.items()} for pattern, limits in given.items()}


def refuse_limit(name: str, limit: Any) -> None:
    if isinstance(limit, bool) or not isinstance(limit, numbers.Real) or not 0 <= float(limit) < math.inf:
        raise BadTolerance(name, limit)


def own_tolerances(limits: Mapping[str, Mapping[str, float]], paths: Collection[str]) -> dict[str, Tolerance]:
    """Return the tolerance of each of the `paths` of numbers that a pattern covers; the last one counts."""
    found: dict[str, Tolerance] = {}
    for pattern, fields in limits.items():
        covered = [path for path in paths if covers(pattern, path)]
        if not covered:
            raise PatternOfNothing("tolerances", pattern, "number", sorted({path or VALUE for path in paths}))
        limit = Tolerance(kind="pinned", reason="given", rtol=fields.get("rtol", 0.0), atol=fields.get("atol", 0.0))
        found |= dict.fromkeys(covered, limit)
    return found


class Ignored(msgspec.Struct):
    """What `ignore` covers in a value; `used` are the patterns that matched something."""

    patterns: tuple[str, ...] = ()
    used: set[str] = msgspec.field(default_factory=set)

    def matches(self, path: str) -> bool:
        found = [pattern for pattern in self.patterns if matches(pattern, path)]
        self.used.update(found)
        return bool(found)

    def redact(self, value: Any, path: str = "") -> Any:
        """Return a plain value, such as one that was kept, with what is ignored replaced by its kind."""
        if self.patterns and (path or not isinstance(value, dict | list)) and self.matches(path):
            return value if isinstance(value, Labels) and value.is_ignored else Labels.ignored(kind_of(value))
        start = f"{path}." if path else ""
        if isinstance(value, dict):
            return {key: self.redact(item, f"{start}{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.redact(item, f"{start}{place}") for place, item in enumerate(value)]
        return value

    def refuse_unused(self, paths: Collection[str]) -> None:
        for pattern in self.patterns:
            if pattern not in self.used:
                raise PatternOfNothing("ignore", pattern, "value", sorted({path or VALUE for path in paths}))


def kind_of(value: Any) -> str:
    """Return the kind of a value of which nothing else is kept, alike before and after it was made plain."""
    from goldsmith.gold.arrays import dtype_name, is_array

    if is_array(value):
        return f"array of {dtype_name(value)}"
    if isinstance(value, Labels):
        return value.dtype if not value.shape else f"array of {value.dtype}"
    if isinstance(value, dict):
        return "dict"
    return "list" if isinstance(value, list | tuple) else type(value).__name__

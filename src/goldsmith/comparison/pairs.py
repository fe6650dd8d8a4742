"""Walk two nested values in parallel: yield leaves in pairs, and those that only one side has."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from goldsmith.comparison.leaves import NotComparable, opened
from goldsmith.gold.safetensors_reader import Bfloat16

_MAX_DEPTH = 200


class Absent:
    """The type of `ABSENT`, which stands for a value that one side lacks."""


ABSENT: Any = Absent()


class Pair(NamedTuple):
    """The values at one path on both sides. `clash` says in words how two containers differ in kind."""

    path: str
    actual: Any
    gold: Any
    note: str = ""
    clash: tuple[str, str] | None = None


def pairs_of(actual: Any, gold: Any) -> Iterator[Pair]:
    """Yield every pair of leaves in gold's order, then what only actual has."""
    return _walk(actual, gold, "", "", 0)


def _walk(actual: Any, gold: Any, path: str, note: str, depth: int) -> Iterator[Pair]:
    if depth > _MAX_DEPTH:
        raise NotComparable(path[:80], "nested without end", "give plain nested dicts and lists")
    if isinstance(actual, Path):
        actual = opened(actual)
    if isinstance(gold, Path):
        gold = opened(gold)
    kinds = _container(actual), _container(gold)
    if kinds == ("", ""):
        yield Pair(path, actual, gold, note)
        return
    if actual is ABSENT or gold is ABSENT:
        yield from _alone(actual, gold, path, depth)
        return
    if "" in kinds or (kinds[0] == "dict") != (kinds[1] == "dict"):
        yield Pair(path, actual, gold, note, (_describe(actual, kinds[0]), _describe(gold, kinds[1])))
        return
    if kinds[0] != kinds[1]:
        note = f"{kinds[0]} where gold has a {kinds[1]}"
    ours, theirs = _items(actual), _items(gold)
    start = f"{path}." if path else ""
    for key, item in theirs.items():
        if _is_leaf(item) and _is_leaf(other := ours.get(key, ABSENT)):
            yield Pair(f"{start}{key}", other, item, note)
        else:
            yield from _walk(ours.get(key, ABSENT), item, f"{start}{key}", note, depth + 1)
    for key, item in ours.items():
        if key not in theirs:
            yield from _walk(item, ABSENT, f"{start}{key}", note, depth + 1)


def _alone(actual: Any, gold: Any, path: str, depth: int) -> Iterator[Pair]:
    items = _items(gold if actual is ABSENT else actual)
    if not items:
        yield Pair(path, actual, gold)
    for key, item in items.items():
        both = (ABSENT, item) if actual is ABSENT else (item, ABSENT)
        yield from _walk(*both, f"{path}.{key}" if path else str(key), "", depth + 1)


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, Path) and not _container(value)


def _container(value: Any) -> str:
    kind: Any = type(value)
    return _container_kind(kind)


@functools.lru_cache(maxsize=256)
def _container_kind(kind: type) -> str:
    for known, name in ((tuple, "tuple"), (list, "list"), (Mapping, "dict")):
        if issubclass(kind, known):
            return name
    if dataclasses.is_dataclass(kind) and kind is not Bfloat16:
        return "dict"
    return ""


def _items(value: Any) -> dict[Any, Any]:
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if all(type(key) is str for key in value):
        return value if isinstance(value, dict) else dict(value)
    named = {str(key): item for key, item in value.items()}
    return named if len(named) == len(value) else dict(value)


def _describe(value: Any, container: str) -> str:
    if container:
        return f"a {container} of {len(_items(value))}"
    return "None" if value is None else f"a {type(value).__name__}"


def describe(value: Any) -> str:
    """Describe a container in words, for one that only one side has."""
    return _describe(value, _container(value))

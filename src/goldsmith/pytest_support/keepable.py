"""Turn what a test gives into plain values that gold's files can hold, or say by name what cannot be kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from goldsmith.comparison.leaves import NotComparable
from goldsmith.errors.pytest import CannotKeep, KeepsNan, NothingToKeep
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, leaf_facts
from goldsmith.gold.labels import Labels, is_nan
from goldsmith.pytest_support.compared_values import compare_values
from goldsmith.pytest_support.path_patterns import VALUE, Ignored, kind_of
from goldsmith.pytest_support.plain_labels import labels_of
from goldsmith.pytest_support.tables import ABOUT, is_table, plain_table
from goldsmith.weights.values import snapshot

_SIMPLE = (float, int, bool, str, type(None))
_UNKNOWN_TABLES = ("xarray",)


def keepable(given: Any, ignored: Ignored | None = None) -> Any:
    """Return a copy of `given` in plain dicts, lists, arrays, labels, numbers and text. What is `ignored` need not be
    plain: only its kind is kept."""
    try:
        value = _plain(given, "", ignored or Ignored())
        compare_values(value, value, guessing=False)  # everything in it can be compared
    except RecursionError:
        raise CannotKeep("the value is nested without end", "give plain nested dicts and lists") from None
    except RecipeMisuse as problem:
        what, _, step = str(problem).partition("; ")
        raise CannotKeep(what, step or "give an array") from None
    except NotComparable as problem:
        what, _, step = str(problem).rstrip(".").partition("; ")
        raise CannotKeep(what, step) from None
    paths = [path for path, _ in walk(value)]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise CannotKeep(f"there are two values at {twice}", "rename one of their keys")
    if not any(_has_content(leaf) for path, leaf in walk(value) if ABOUT not in path.split(".")):
        raise NothingToKeep(_described(given))
    return value


def refuse_nan(value: Any) -> None:
    """Refuse to record NaN, which the next check would not accept."""
    for path, leaf in walk(value):
        if isinstance(leaf, Labels):
            bad = [place for place, item in enumerate(leaf.items) if is_nan(item)]
            first, count, elements = leaf.index_of(bad[0]) if bad else (), len(bad), len(leaf.items)
        else:
            facts = leaf_facts(path, leaf)
            first, count, elements = facts.first_bad or (), facts.nan, facts.elements
        if count:
            index = f" at {list(first)}" if first else ""
            raise KeepsNan(path or VALUE, f"{index}{f' ({count} of {elements} elements)' if elements > 1 else ''}")


def _plain(value: Any, path: str, ignored: Ignored) -> Any:
    """Return a value as it is kept: tuples as lists, since files without torch know no others."""
    if ignored.patterns and path and ignored.matches(path):
        return Labels.ignored(_kind(value, path))
    if type(value) in _SIMPLE:
        return value
    if is_table(value):
        value = plain_table(value, path or VALUE)
    items = _items(value)
    if items is not None:
        start = f"{path}." if path else ""
        found = {_key(key, path): _plain(item, f"{start}{key}", ignored) for key, item in items.items()}
        return list(found.values()) if isinstance(value, list | tuple) and not hasattr(value, "_fields") else found
    labels = labels_of(value, path or VALUE)
    if labels is not None or isinstance(value, Labels):
        return labels or value
    if type(value).__module__.partition(".")[0] in _UNKNOWN_TABLES:
        step = "give its arrays by name: {name: item.to_numpy() for name, item in dataset.items()}"
        raise CannotKeep(f"{path or VALUE} is a {type(value).__name__}", step)
    return snapshot(value, path or VALUE)


def _items(value: Any) -> dict[Any, Any] | None:
    """Return what a container has, by key or place; None for a leaf."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: getattr(value, name) for name in value._fields}
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _key(key: Any, path: str) -> str | int:
    if isinstance(key, str) or type(key) is int:
        return key
    raise RecipeMisuse(f"{path or VALUE} has the key {key!r}; only strings and integers can be keys in gold")


def _kind(value: Any, path: str) -> str:
    try:
        return kind_of(_plain(value, path, Ignored()))
    except Exception:  # it is ignored: whatever it is, its class is enough
        return type(value).__name__


def _has_content(leaf: Any) -> bool:
    if isinstance(leaf, Labels):
        return bool(leaf.items) and any(item is not None for item in leaf.items)
    return leaf is not None and (not is_array(leaf) or bool(leaf.size if not hasattr(leaf, "numel") else leaf.numel()))


def _described(given: Any) -> str:
    if given is None:
        return "None"
    kind = type(given).__name__
    return f"an empty {kind}" if hasattr(given, "__len__") and not len(given) else f"a {kind}"

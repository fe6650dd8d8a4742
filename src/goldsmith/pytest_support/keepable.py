"""Turn what a test gives into plain values that gold's files can hold, or say by name what cannot be kept."""

from __future__ import annotations

from typing import Any

from goldsmith.comparison.api import compare
from goldsmith.comparison.leaves import NotComparable
from goldsmith.errors.pytest import CannotKeep, KeepsNan, NothingToKeep
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, leaf_facts
from goldsmith.weights.values import snapshot

VALUE = "value"
"""What a value is called that has no name of its own."""
_TABLES = ("pandas", "polars", "xarray")


def keepable(given: Any) -> Any:
    """Return a copy of `given` in plain dicts, lists, arrays, numbers and text."""
    try:
        _refuse_tables(given)
        value = _lists(snapshot(given, VALUE))
        compare(value, value, guessing=False)  # everything in it can be compared
    except RecursionError:
        raise CannotKeep("the value is nested without end", "give plain nested dicts and lists") from None
    except RecipeMisuse as problem:
        what, _, step = str(problem).partition("; ")
        raise CannotKeep(what.removeprefix(f"{VALUE}."), step or "give an array") from None
    except NotComparable as problem:
        what, _, step = str(problem).rstrip(".").partition("; ")
        raise CannotKeep(what, step) from None
    paths = [path for path, _ in walk(value)]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise CannotKeep(f"there are two values at {twice}", "rename one of their keys")
    if not any(_has_content(leaf) for _, leaf in walk(value)):
        raise NothingToKeep(_described(given))
    return value


def refuse_nan(value: Any) -> None:
    """Refuse to record NaN, which the next check would not accept."""
    for path, leaf in walk(value):
        facts = leaf_facts(path, leaf)
        if facts.nan:
            index = f" at {list(facts.first_bad)}" if facts.first_bad else ""
            count = f" ({facts.nan} of {facts.elements} elements)" if facts.elements > 1 else ""
            raise KeepsNan(path or VALUE, f"{index}{count}")


def _refuse_tables(value: Any) -> None:
    """Refuse tables with labels, of which an array would keep the numbers alone."""
    for path, leaf in walk(value):
        if type(leaf).__module__.partition(".")[0] in _TABLES:
            step = "give its columns by name: {name: table[name].to_numpy() for name in table}"
            raise CannotKeep(f"{path or VALUE} is a {type(leaf).__name__}", step)


def _lists(value: Any) -> Any:
    """Return tuples as lists: files without torch know no others."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value


def _has_content(leaf: Any) -> bool:
    return leaf is not None and (not is_array(leaf) or bool(leaf.size if not hasattr(leaf, "numel") else leaf.numel()))


def _described(given: Any) -> str:
    if given is None:
        return "None"
    kind = type(given).__name__
    return f"an empty {kind}" if hasattr(given, "__len__") and not len(given) else f"a {kind}"

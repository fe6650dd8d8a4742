"""Walk and map nested values: dicts, lists and tuples down to their leaves. The only walker of one value.

Everything but a dict, list or tuple is a leaf: arrays, numbers, text, None, objects. Two values are walked in parallel
by `goldsmith.comparison.pairs`, which also knows dataclasses and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

IsLeaf = Callable[[Any], bool]


def walk(value: Any, path: str = "", is_leaf: IsLeaf | None = None) -> Iterator[tuple[str, Any]]:
    """Yield every leaf with its dotted path below `path`, in order; an empty container has none.

    Where `is_leaf` is true of a dict, list or tuple, yield it whole.
    """
    if not isinstance(value, dict | list | tuple) or (is_leaf is not None and is_leaf(value)):
        yield path, value
        return
    prefix = f"{path}." if path else ""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from walk(item, f"{prefix}{key}", is_leaf)


def leaves_in(value: Any, is_leaf: IsLeaf | None = None) -> Iterator[Any]:
    """Yield every leaf, in order, without its path."""
    if not isinstance(value, dict | list | tuple) or (is_leaf is not None and is_leaf(value)):
        yield value
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from leaves_in(item, is_leaf)


def map_tree(function: Callable[[Any], Any], value: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Rebuild `value` with `function` applied to every leaf.

    Lists and tuples keep their type, named tuples too; any dict becomes a plain one with the same keys, in order.
    """
    if not isinstance(value, dict | list | tuple) or (is_leaf is not None and is_leaf(value)):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tree(function, item, is_leaf) for key, item in value.items()}
    return _rebuild(value, [map_tree(function, item, is_leaf) for item in value])


def map_paths(function: Callable[[str, Any], Any], value: Any, path: str = "", separator: str = ".") -> Any:
    """Rebuild `value` as `map_tree` does, with `function` applied to the path and the leaf."""
    if not isinstance(value, dict | list | tuple):
        return function(path, value)
    prefix = f"{path}{separator}" if path else ""
    if isinstance(value, dict):
        return {key: map_paths(function, item, f"{prefix}{key}", separator) for key, item in value.items()}
    items = [map_paths(function, item, f"{prefix}{index}", separator) for index, item in enumerate(value)]
    return _rebuild(value, items)


def _rebuild(value: Any, items: list[Any]) -> Any:
    if type(value) is list:
        return items
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

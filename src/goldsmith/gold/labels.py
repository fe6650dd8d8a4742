"""Values that are not numbers, but have a plain form: text, dates, missing values; alone or as arrays of them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any

import msgspec

from goldsmith.foundation.nested import map_paths, map_tree, walk

MISSING_TIME = "NaT"
_TAG = "@"
_IGNORED = "ignored "
_PLAIN = (str, bool, int, float, type(None))


class Tagged(msgspec.Struct, frozen=True):
    """One value by its kind and its text, such as `date` and `2024-02-29`."""

    kind: str
    text: str

    @property
    def shown(self) -> str:
        return self.text or self.kind


Item = str | bool | int | float | None | Tagged


class Labels(msgspec.Struct, frozen=True):
    """An array of such values in row-major order; a single one has no axes. In a struct, and not a dataclass, nothing
    walks into it."""

    dtype: str
    """NumPy's dtype, such as `<U3`, `datetime64[ns]` or `object`; of a single value its type."""
    shape: tuple[int, ...]
    items: tuple[Item, ...]

    @classmethod
    def ignored(cls, kind: str) -> Labels:
        """Return what stands for a value of which nothing but its kind is kept."""
        return cls(f"{_IGNORED}{kind}", (), ())

    @property
    def is_ignored(self) -> bool:
        return self.dtype.startswith(_IGNORED)

    @property
    def ignored_kind(self) -> str:
        return self.dtype.removeprefix(_IGNORED)

    def index_of(self, place: int) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        for size in reversed(self.shape):
            place, index = divmod(place, size)
            found = (index, *found)
        return found


def is_nan(item: Item) -> bool:
    """Say whether an item is NaN or NaT, which equal nothing."""
    if isinstance(item, Tagged):
        return item.kind == MISSING_TIME
    return isinstance(item, float) and math.isnan(item)


def shown_item(item: Item) -> str:
    return item.shown if isinstance(item, Tagged) else repr(item)


# --- in files


def as_texts(value: Any) -> tuple[Any, list[str]]:
    """Return a nested value with each of its labels as JSON text, which every file can hold, and where those are."""
    paths = [path for path, leaf in walk(value) if isinstance(leaf, Labels)]
    if not paths:
        return value, []
    return map_tree(lambda leaf: json.dumps(labels_as_json(leaf)) if isinstance(leaf, Labels) else leaf, value), paths


def from_texts(value: Any, paths: Collection[str]) -> Any:
    """Return the value that `as_texts` was given. ValueError or TypeError if a text is another."""
    return map_paths(lambda path, leaf: _from_text(leaf) if path in paths else leaf, value) if paths else value


def _from_text(text: str) -> Labels:
    given = json.loads(text)
    name = next(key for key in given if key.startswith(_TAG))
    shape = given.get("shape")
    axes = tuple(shape) if shape is not None else shape_of_nested(given[name])
    return labels_from_json(name.removeprefix(_TAG), given[name], axes)


def labels_as_json(labels: Labels) -> dict[str, Any]:
    """Return them as JSON can hold them: `{"@<U1": ["a", "b"]}`, nested as their axes are."""
    if labels.is_ignored:
        return {f"{_TAG}ignored": labels.ignored_kind}
    flat = [_item_as_json(item) for item in labels.items]
    found: dict[str, Any] = {f"{_TAG}{labels.dtype}": nest(flat, labels.shape)}
    return found if flat else {**found, "shape": list(labels.shape)}


def labels_from_json(name: str, given: Any, shape: tuple[int, ...]) -> Labels:
    """Return what `labels_as_json` has made; `name` is its key without the tag."""
    if name == "ignored":
        return Labels.ignored(given)
    items = [] if 0 in shape else flat_items(given, len(shape))
    return Labels(name, shape, tuple(_item_from_json(item) for item in items))


def nest(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Nest a flat list as its axes are."""
    if not shape:
        return flat[0]
    if len(shape) == 1 or not flat:
        return flat
    step = math.prod(shape[1:])
    return [nest(flat[start : start + step], shape[1:]) for start in range(0, len(flat), step)]


def flat_items(nested: Any, axes: int) -> list[Any]:
    if axes == 0:
        return [nested]
    if axes == 1:
        return list(nested)
    return [item for row in nested for item in flat_items(row, axes - 1)]


def shape_of_nested(nested: Any) -> tuple[int, ...]:
    """Return the axes of lists in lists; empty ones say their shape themselves."""
    found: tuple[int, ...] = ()
    while isinstance(nested, list):
        found = (*found, len(nested))
        if not nested:
            break
        nested = nested[0]
    return found


def _item_as_json(item: Item) -> Any:
    if isinstance(item, Tagged):
        return {f"{_TAG}{item.kind}": item.text}
    if isinstance(item, float) and not math.isfinite(item):
        return {f"{_TAG}float": repr(item)}
    return item


def _item_from_json(given: Any) -> Item:
    if isinstance(given, dict):
        ((name, text),) = given.items()
        kind = name.removeprefix(_TAG)
        return float(text) if kind == "float" else Tagged(kind, text)
    if not isinstance(given, _PLAIN):
        raise ValueError(f"{given!r} is not a plain item")
    return given

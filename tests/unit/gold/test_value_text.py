"""Values as text: whatever is written is read back to the bit, or is not written as text at all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from goldsmith.errors.recipe import MissingPackage
from goldsmith.gold.arrays import array_hash, is_array
from goldsmith.gold.labels import Labels, Tagged, as_texts, from_texts
from goldsmith.gold.value_text import NotText, text_of, value_as_json, value_from_json

NUMBERS = ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = st.sampled_from(NUMBERS).flatmap(lambda dtype: arrays.arrays(np.dtype(dtype), SHAPES))
ITEMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.builds(Tagged, st.sampled_from(["date", "NaT", "Decimal"]), st.text()),
)
LABELS = SHAPES.flatmap(
    lambda shape: st.lists(ITEMS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
        lambda items: Labels("object", shape, tuple(items))
    )
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    ARRAYS,
    ARRAYS.map(torch.tensor),
    LABELS,
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, dict | list):
        keys = one.keys() == two.keys() if isinstance(one, dict) else len(one) == len(two)
        items = one if isinstance(one, dict) else range(len(one))
        return type(one) is type(two) and keys and all(same(one[key], two[key]) for key in items)
    if is_array(one):
        return type(one) is type(two) and array_hash(one) == array_hash(two)
    return type(one) is type(two) and repr(one) == repr(two)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_what_is_written_as_text_is_read_back_to_the_bit(value: Any) -> None:
    try:
        text = text_of(value_as_json(value))
    except NotText:  # NaN with other bits than the usual ones
        return
    assert same(value_from_json(json.loads(text.encode())), value)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text("ab"), LABELS, max_size=3))
def test_labels_come_back_from_a_file_that_knows_only_text(value: dict[str, Any]) -> None:
    written, paths = as_texts(value)
    assert all(isinstance(written[path], str) for path in paths)
    assert same(from_texts(json.loads(json.dumps(written)), paths), value)


@settings(max_examples=100, deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_a_narrow_float_is_written_as_short_as_it_can_be(number: float) -> None:
    written = value_as_json(np.float32([number]))["@float32"]
    assert np.float32(float(written[0])) == np.float32(number)
    assert float(written[0]) == float(str(np.float32(number)))


def test_numbers_stand_in_short_lines_and_each_key_in_its_own() -> None:
    value = {"y": np.arange(10, dtype=np.float32) / 10, "x": 0.1, "m": np.eye(2), "@t": "a\nb", "e": np.zeros((0, 3))}
    assert text_of(value_as_json(value)).splitlines() == [
        "{",
        '  "y": {',
        '    "@float32": [',
        "      0.0, 0.1, 0.2, 0.3,",
        "      0.4, 0.5, 0.6, 0.7,",
        "      0.8, 0.9",
        "    ]",
        "  },",
        '  "x": 0.1,',
        '  "m": {',
        '    "@float64": [',
        "      [1.0, 0.0],",
        "      [0.0, 1.0]",
        "    ]",
        "  },",
        '  "@@t": {"@lines": ["a", "b"]},',
        '  "e": {"@float64": [], "shape": [0, 3]}',
        "}",
    ]


@pytest.mark.parametrize("value", [{1: "a", "1": "b"}, np.array([0x7FF8000000000001], np.int64).view(np.float64)])
def test_what_text_would_change_is_not_written_as_text(value: Any) -> None:
    with pytest.raises(NotText):
        value_as_json(value)


def test_arrays_of_a_library_that_nobody_has_registered_here_say_what_is_missing() -> None:
    with pytest.raises(MissingPackage, match="needs tinygrad"):
        value_from_json({"@tinygrad.float32": [1.0]})

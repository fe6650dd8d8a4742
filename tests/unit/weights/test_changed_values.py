"""Which values of an input are no longer what they were: for arrays, numbers and everything that may hold them."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.foundation.nested import walk
from goldsmith.weights.values import changed_values, snapshot


class Pair(NamedTuple):
    one: Any
    two: Any


@dataclasses.dataclass
class Fields:
    one: Any
    two: Any


class Wrapped:
    """A hand-written tensor class."""

    def __init__(self, data: Any) -> None:
        self.data = data


arrays = st.sampled_from([(), (0,), (3,), (2, 2)]).map(np.ones)
leaves = arrays | arrays.map(torch.from_numpy) | arrays.map(Wrapped) | st.integers() | st.floats() | st.text(max_size=3)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Fields, inner, inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["x", "y"]), values, min_size=1))
def test_what_nobody_touched_has_not_changed(inputs: dict[str, Any]) -> None:
    assert changed_values(inputs, {name: snapshot(value, name) for name, value in inputs.items()}) == ()


@given(values, st.data())
def test_what_was_touched_is_named_and_nothing_else(value: Any, data: st.DataObject) -> None:
    before = snapshot(value, "x")
    after = snapshot(value, "x")
    touched = [path for path, leaf in walk(after, "x") if isinstance(leaf, np.ndarray | torch.Tensor) and leaf.size]
    if touched:
        path = data.draw(st.sampled_from(touched))
        leaf = dict(walk(after, "x"))[path]
        leaf += 1
        numbers = leaf.numel() if isinstance(leaf, torch.Tensor) else leaf.size
        assert changed_values({"x": after}, {"x": before}) == ((path,) if numbers else ())


def test_items_added_taken_away_or_no_longer_readable_have_changed() -> None:
    before = {"x": [1, 2], "y": {"a": 1.0}, "z": [0.5]}
    now = {"x": [1], "y": {"a": 1.0, "b": 2}, "z": object()}
    assert changed_values(now, before) == ("x.1", "y.b", "z.0", "z")

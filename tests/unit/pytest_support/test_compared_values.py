"""Text, dates and objects beside those that were kept: they agree if they are the same, and in no other case."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goldsmith.gold.labels import Labels, Tagged, is_nan
from goldsmith.pytest_support.compared_values import compare_values
from goldsmith.pytest_support.kept_entry import ToKeep
from goldsmith.pytest_support.one_file import OneFile, encode_small
from support.doc_pages import ROOT

ITEMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 2),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.text("01", max_size=1),
    st.builds(Tagged, st.sampled_from(["date", "NA", "NaT"]), st.sampled_from(["", "1"])),
)
LABELS = st.builds(
    lambda dtype, items: Labels(dtype, (len(items),), tuple(items)),
    st.sampled_from(["object", "numpy.str"]),
    st.lists(ITEMS, min_size=1, max_size=2),
)
LEAVES = st.one_of(LABELS, st.builds(Labels.ignored, st.sampled_from(["str", "int"])), st.text("01"), st.none())
VALUES = st.fixed_dictionaries({"a": LEAVES}, optional={"b": LEAVES})


def leaves_of(value: dict[str, Any]) -> str:
    return repr(sorted(value.items()))


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_two_values_agree_exactly_if_they_are_the_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    items = [item for leaf in (*one.values(), *two.values()) if isinstance(leaf, Labels) for item in leaf.items]
    assume(not any(is_nan(item) for item in items))
    assert bool(compare_values(one, two, rtol=0.0)) == (leaves_of(one) == leaves_of(two))
    assert bool(compare_values(one, one))


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_what_is_written_agrees_with_itself_once_it_is_read(value: dict[str, Any]) -> None:
    text = encode_small(ToKeep(value), {"test": "test_it"})
    assert text is not None
    read = OneFile(ROOT / "x.gold.json", text)
    assert bool(compare_values(read.kept.value, value, rtol=0.0, equal_nan=True))
    assert encode_small(read.kept, read.about) == text

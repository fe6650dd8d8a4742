"""Nested values of any shape: walking finds every leaf once, mapping keeps the shape and the order."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from goldsmith.foundation.nested import leaves_in, map_paths, map_tree, walk


class Point(NamedTuple):
    x: Any
    y: Any


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3) | st.just(set())
KEYS = st.text("abc_", min_size=1, max_size=3)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Point, inner, inner),
    ),
    max_leaves=20,
)


def get(value: Any, path: str) -> Any:
    for key in path.split(".") if path else ():
        value = value[key] if isinstance(value, dict) else value[int(key)]
    return value


def types_in(value: Any) -> Any:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return type(value), [types_in(item) for item in children]


@given(TREES)
def test_every_path_leads_to_its_leaf(tree: Any) -> None:
    assert all(get(tree, path) is leaf for path, leaf in walk(tree))
    assert len({path for path, _ in walk(tree)}) == len(list(walk(tree)))


@given(TREES)
def test_leaves_are_those_of_the_walk_in_the_same_order(tree: Any) -> None:
    assert [id(leaf) for leaf in leaves_in(tree)] == [id(leaf) for _, leaf in walk(tree)]


@given(TREES)
def test_mapping_nothing_gives_an_equal_value_of_the_same_types(tree: Any) -> None:
    same = map_tree(lambda leaf: leaf, tree)
    assert same == tree
    assert types_in(same) == types_in(tree)
    assert all(one is two for one, two in zip(leaves_in(same), leaves_in(tree), strict=True))


@given(TREES)
def test_what_was_walked_can_be_put_back(tree: Any) -> None:
    kept = dict(walk(tree, "top"))
    assert map_paths(lambda path, _: kept[path], tree, "top") == tree
    numbers = iter(range(len(kept)))
    counted = map_tree(lambda _: next(numbers), tree)
    assert list(leaves_in(counted)) == list(range(len(kept)))


@given(TREES)
def test_a_change_of_leaves_changes_nothing_else(tree: Any) -> None:
    changed = map_tree(lambda leaf: (type(leaf), repr(leaf)), tree)
    found = list(walk(changed, is_leaf=lambda value: isinstance(value, tuple) and value[:1] and type(value[0]) is type))
    assert found == [(path, (type(leaf), repr(leaf))) for path, leaf in walk(tree)]


def test_a_leaf_alone_has_the_path_it_was_given() -> None:
    assert list(walk(3)) == [("", 3)]
    assert list(walk(3, "output")) == [("output", 3)]
    assert list(walk({"a": [1, {"b": 2}]}, "output")) == [("output.a.0", 1), ("output.a.1.b", 2)]


def test_is_leaf_keeps_a_container_whole() -> None:
    form = {"x": {"@tensor": 0}, "y": [{"@tensor": 1}, 5]}

    def is_reference(value: Any) -> bool:
        return isinstance(value, dict) and set(value) == {"@tensor"}

    assert list(leaves_in(form, is_reference)) == [{"@tensor": 0}, {"@tensor": 1}, 5]
    assert map_tree(lambda leaf: leaf if leaf == 5 else leaf["@tensor"], form, is_reference) == {"x": 0, "y": [1, 5]}


def test_paths_are_joined_as_asked() -> None:
    assert map_paths(lambda path, leaf: path, {"a": [1, (2,)]}, "input", "/") == {"a": ["input/a/0", ("input/a/1/0",)]}

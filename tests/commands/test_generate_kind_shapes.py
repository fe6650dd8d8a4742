"""Shapes as courses write them down, and sizes that no two axes share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.drafts.argument_use import usages_of
from goldsmith.drafts.documented_shapes import Sizes, annotated_shape, shapes_in_docstring
from goldsmith.drafts.specs_of_values import read_array


@pytest.mark.parametrize(
    ("text", "name", "shape"),
    [
        ("x: (batch, seq, dim)", "x", ("batch", "seq", "dim")),
        ("observations (batch, obs_dim), noisy (batch, chunk, action_dim)", "noisy", ("batch", "chunk", "action_dim")),
        ("- w: A numpy array of weights, of shape (D, M)", "w", ("D", "M")),
        ("y (np.ndarray): labels of shape (N,)", "y", ("N",)),
        ("q: [B, H, 2*T, D]", "q", ("B", "H", "2*T", "D")),
        ("x: (..., d_model)", "x", ("d_model",)),
        ("- Wx: Weights, of shape (D, 4H)", "Wx", ("D", "4*H")),
        ("attn(key, query=x)\nx = randn(batch, key)\n- key: of shape (N, T)", "key", ("N", "T")),
    ],
)
def test_shapes_are_found_in_docstrings(text: str, name: str, shape: tuple[str, ...]) -> None:
    assert shapes_in_docstring(text, name)[0] == shape


@pytest.mark.parametrize(
    "text",
    ["x (optional): a number", "x: a float (see below)", "y: (N, D)", "max(x, 0)", "f(x, y=2)\nz = randn(N, D)"],
)
def test_what_is_no_shape_is_not_taken_for_one(text: str) -> None:
    assert shapes_in_docstring(text, "x") == []


def test_annotations_of_jaxtyping_are_understood_as_text() -> None:
    assert annotated_shape("Float[Tensor, ' ... queries d_k']") == ("float", ("batch", "length", "queries", "d_k"))
    assert annotated_shape('Int[Tensor, "batch seq"]') == ("int", ("batch", "seq"))
    assert annotated_shape("torch.Tensor") is None


@given(st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), min_size=2, max_size=6, unique=True))
def test_symbols_that_differ_get_sizes_that_differ(symbols: list[str]) -> None:
    shape = Sizes().shape(tuple(symbol for symbol in symbols if symbol.isidentifier() and symbol != "_"))
    assert shape is None or len(set(shape)) == len(shape)


def test_what_an_object_was_built_with_decides_about_sizes() -> None:
    assert Sizes({"dim": 6}).shape(("batch", "2*dim")) == (5, 12)


def test_a_symbol_has_the_size_of_the_one_setting_that_means_the_same() -> None:
    settings = {"embed_dim": 24, "num_heads": 3}
    assert Sizes(settings, by_meaning=True).shape(("N", "S", "E", "H")) == (5, 11, 24, 3)
    assert Sizes(settings, by_meaning=True).shape(("E", "D")) == (24, 9)
    assert Sizes({"in_dim": 24, "emb": 8}, by_meaning=True).shape(("D",)) == (9,)


@pytest.mark.parametrize(
    ("array", "draw"),
    [
        (np.random.default_rng(0).normal(size=(3, 4)), "normal"),
        (np.random.default_rng(0).random((3, 4)), "uniform"),
        (np.full((3, 4), 0.25), "normal"),
        (np.array([[0.25, 0.75], [0.5, 0.5]]), "shares"),
        (np.array([2, 0, 1, 3]), "order"),
        (np.array([[7, 2], [0, 7]]), "integers"),
        (np.tril(np.ones((3, 3), dtype=bool)), "causal"),
    ],
)
def test_an_array_is_drawn_as_the_one_that_was_seen(array: np.ndarray, draw: str) -> None:
    spec = read_array(array)
    assert spec.draw == draw
    made = eval(spec.source(), {"np": np})
    assert made.shape == array.shape
    assert made.dtype == array.dtype


def test_how_an_argument_is_used_says_what_it_is() -> None:
    def example(text, counts, values, f, size):  # type: ignore[no-untyped-def]
        total = sum(values)
        return [counts.get(word, f(size)) for word in text.split()], total

    kinds = {name: usage.kinds()[0] for name, usage in usages_of(example).items()}
    assert kinds == {"text": "text", "counts": "mapping", "values": "list", "f": "function", "size": "number"}

"""What a docstring says bounds what goes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goldsmith.drafts.contracts import read_contract
from goldsmith.drafts.specs import Array, Literal, Spec
from goldsmith.drafts.specs_of_values import read_array
from goldsmith.drafts.variations import other_values


def example(x: Any, q: Any = 0.1, n: Any = 3) -> Any:
    return x


def allows(text: str, **arguments: float) -> bool:
    contract = read_contract(example, text)
    return contract.allows({name: Literal(value) for name, value in arguments.items()}, {"C": 7})


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("q: at least 0 and less than 1", (0, 0.5), (-0.1, 1, 2)),
        ("q: between 0 and 1", (0, 1, 0.5), (-1, 1.2)),
        ("q: the discount, in [0, 1)", (0, 0.9), (1, -0.1)),
        ("q: 0 < q <= 1", (0.1, 1), (0, 1.1)),
        ("Move by a share of q, which is between 0 and 1.", (0, 0.5), (2,)),
        ("q must not be negative", (0, 3), (-1,)),
        ("q: a positive number", (0.1,), (0, -1)),
        ("q: greater than n, which is at least 0", (4, 9), (3, 2)),
        ("q: index, 0 <= q < C", (0, 6), (7,)),
        ("q (float): probability of dropping", (0.5,), (1.5, -0.5)),
        ("x, q: at most 2", (2, 1), (3,)),
    ],
)
def test_bounds_in_docstrings_are_kept(text: str, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    assert all(allows(text, q=value) for value in inside)
    assert not any(allows(text, q=value) for value in outside)


@pytest.mark.parametrize("text", ["q: some number", "x: at least 3\n\nq: a number", "x: (N, D)", "n: less than q"])
def test_what_is_said_of_something_else_is_no_bound(text: str) -> None:
    assert allows(text, q=-2.0)


def test_a_name_alone_is_no_bound_where_other_values_are_known() -> None:
    def drop(x: Any, p: float) -> Any: ...

    def norm(x: Any, p: float = 2.0) -> Any: ...

    assert not read_contract(drop, "").allows({"p": Literal(1.4)}, {})
    assert read_contract(norm, "").allows({"p": Literal(3.0)}, {})


def fitted(text: str, array: Array, name: str = "x") -> Array:
    found: Spec = read_contract(example, text).fit({name: array}, {"C": 7})[name]
    assert isinstance(found, Array)
    return found


def made(array: Array) -> Any:
    np.random.seed(0)
    return eval(array.source(), {"np": np})


def test_arrays_are_drawn_as_what_they_are_said_to_be() -> None:
    normal = Array("numpy", (6, 6))
    assert (made(fitted("x: (N, D), positive", normal)) > 0).all()
    assert np.allclose(made(fitted("x: (N, D), probabilities that sum to one in each row", normal)).sum(-1), 1)
    assert set(np.unique(made(fitted("x: (N, D), ones and zeros", normal)))) == {0, 1}
    assert (made(fitted("x: (N, D), one-hot rows", normal)).sum(-1) == 1).all()
    symmetric = made(fitted("x: (N, N), symmetric", normal))
    assert np.allclose(symmetric, symmetric.T)
    whole = made(fitted("x: (N, D), integers, 0 <= x < C", normal))
    assert whole.dtype.kind == "i"
    assert whole.min() >= 0
    assert whole.max() < 7
    lengths = fitted("x: (N,), integers, each at least 1 and at most C", Array("numpy", (40,)))
    assert made(lengths).min() >= 1
    assert fitted("x: (N, D)", normal) == normal


def test_masks_of_padding_begin_with_a_token_in_each_row() -> None:
    def pool(hidden: Any, mask: Any) -> Any:
        """mask: (batch, length), 1 for tokens and 0 for padding"""

    found = read_contract(pool, "").fit({"mask": Array("numpy", (9, 5))}, {})["mask"]
    assert isinstance(found, Array)
    mask = made(found)
    assert (mask[:, 0] == 1).all()
    assert (np.diff(mask, axis=1) <= 0).all()


def test_sizes_that_belong_together_stay_so() -> None:
    contract = read_contract(example, "x: (states, states)\nn: (states,)")
    square, row = Array("numpy", (6, 6)), Array("numpy", (6,))
    assert contract.allows({"x": square, "n": row}, {})
    assert not contract.allows({"x": Array("numpy", (7, 6)), "n": row}, {})
    assert not contract.allows({"x": square, "n": Array("numpy", (1,))}, {})


@pytest.mark.parametrize("text", ["x: (N, D) with a batch of at least 2", "while training N must be greater than 1"])
def test_a_batch_of_one_is_left_out_where_it_is_excluded(text: str) -> None:
    contract = read_contract(example, text)
    assert not contract.allows({"x": Array("numpy", (1, 5))}, {})
    assert contract.allows({"x": Array("numpy", (2, 5))}, {})


def values(text: str, **arguments: Any) -> list[Any]:
    contract = read_contract(example, text)
    literals = {name: Literal(value) for name, value in arguments.items()}
    found = other_values(literals, contract)
    return [spec.value for item in found for spec in item.values() if isinstance(spec, Literal)]


def test_numbers_keep_the_sign_and_the_kind_that_were_seen() -> None:
    assert all(0 < value < 1 for value in values("", q=0.2))
    assert all(value > 1 for value in values("", n=4))
    assert all(type(value) is int for value in values("", n=4))
    assert 0.0 in values("q: at least 0 and less than 1", q=0.2)
    assert all(len(value) > 0 for value in values("", x=[3, 1, 2]))


def test_a_sign_that_decides_what_is_done_is_evidence() -> None:
    def bend(p: float) -> float:
        return p if p > 0 else 0.1 * p

    found = other_values({"p": Literal(0.7)}, read_contract(bend, ""))
    assert any(spec.value < 0 for item in found for spec in item.values() if isinstance(spec, Literal))


def test_lists_of_one_length_keep_one_length() -> None:
    def dot(a: list[int], b: list[int]) -> int:
        return sum(x * y for x, y in zip(a, b, strict=True))

    for item in other_values({"a": Literal([3, 1, 4]), "b": Literal([1, 5, 9])}, read_contract(dot, "")):
        first, second = (spec.value for spec in item.values() if isinstance(spec, Literal))
        assert len(first) == len(second)


@pytest.mark.parametrize(
    ("array", "draw"),
    [
        (np.array([1, 7, 3]), "integers"),
        (np.array([2.0, 7.5, 3.0]), "range"),
        (np.array([[1, 1, 0], [1, 0, 0]]), "prefix"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "one-hot"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), "binary"),
        (np.array([[2.0, -1.0], [-1.0, 3.0]]), "symmetric"),
        (np.arange(5), "counted"),
    ],
)
def test_what_was_seen_keeps_its_kind(array: np.ndarray, draw: str) -> None:
    spec = read_array(array)
    assert spec.draw == draw
    found = made(spec)
    assert found.shape == array.shape
    assert found.min() >= array.min()

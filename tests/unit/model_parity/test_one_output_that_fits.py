"""Where one side returns a tensor and the other several, the only value that fits by shape and kind is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import goldsmith

torch = pytest.importorskip("torch")
X = torch.linspace(-1, 1, 12).reshape(3, 4)


@dataclass
class Output:
    loss: Any
    scores: Any
    top: Any


class Pair(NamedTuple):
    attention: Any
    hidden: Any


def alone(x: Any) -> Any:
    return x * 2


def wrong(x: Any) -> Any:
    return x * 2.01


SEVERAL = {
    "a dict": (lambda x: {"top": (x * 2).argmax(-1), "logits": x * 2, "mask": x > 0}, "logits"),
    "a dataclass": (lambda x: Output(x.mean(), x * 2, x.argmax(-1)), "scores"),
    "a named tuple": (lambda x: Pair(x @ x.mT, x * 2), "hidden"),
    "a tuple": (lambda x: (x.sum(), x * 2), "1"),
}


@pytest.mark.parametrize(("several", "name"), SEVERAL.values(), ids=SEVERAL)
def test_the_candidates_only_value_that_fits_is_compared_and_named(several: Any, name: str) -> None:
    found = goldsmith.parity(alone, several, X)
    assert found, found
    assert any(f"; {name}, the only one that fits, was compared" in note for note in found.report.notes)
    assert not goldsmith.parity(wrong, several, X)


@pytest.mark.parametrize(("several", "name"), SEVERAL.values(), ids=SEVERAL)
def test_so_is_the_references_with_what_was_left_out(several: Any, name: str) -> None:
    found = goldsmith.parity(several, alone, X)
    assert found, found
    assert any(f"; {name}, the only one that fits" in note and "and not" in note for note in found.report.notes)
    assert not goldsmith.parity(several, wrong, X)


def test_the_first_of_a_tuple_counts_and_of_several_in_a_dict_one_must_be_said() -> None:
    assert goldsmith.parity(alone, lambda x: (x * 2, x * 3), X)
    with_names = goldsmith.parity(alone, lambda x: {"hidden": x * 3, "logits": x * 2}, X)
    assert with_names.report.kind == "outputs"
    assert "several of that shape and kind" in with_names.report.reason
    assert "outputs={'': 'hidden'}" in with_names.report.reason
    assert goldsmith.parity(alone, lambda x: {"hidden": x * 3, "logits": x * 2}, X, outputs={"": "logits"})


def test_of_several_of_the_references_that_fit_one_must_be_said() -> None:
    found = goldsmith.parity(lambda x: {"hidden": x * 3, "logits": x * 2}, alone, X)
    assert found.report.kind == "outputs"
    assert goldsmith.parity(lambda x: {"hidden": x * 3, "logits": x * 2}, alone, X, outputs={"logits": ""})


def test_whole_numbers_do_not_stand_for_others() -> None:
    found = goldsmith.parity(alone, lambda x: {"a": (x * 2).long(), "b": x > 0}, X)
    assert found.report.kind == "outputs"
    assert "none of that shape and kind" in found.report.reason

"""`goldsmith.parity` on models that are organised otherwise: weights in another order, more outputs, other axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import goldsmith
from support.port_styles import RowsAreInputs

pytestmark = pytest.mark.torch
DIM = 6


def x() -> Any:
    return torch.randn(2, 5, DIM)


class Mixing(nn.Module):
    """Mixes positions; as attention does, it may also return its scores."""

    def __init__(self, *, scores: bool, stopped: bool = False) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.scores, self.stopped = scores, stopped

    def forward(self, x: Any) -> Any:
        scores = torch.softmax(self.inner(x) @ x.mT, -1)
        mixed = self.outer(scores @ (x.detach() if self.stopped else x))
        return (mixed, scores) if self.scores else mixed


class Block(nn.Module):
    """A norm and two parts, registered in the order that `names` has."""

    def __init__(
        self, names: dict[str, str], *, scores: bool = False, factor: float = 1, stopped: bool = False
    ) -> None:
        super().__init__()
        parts = {
            "before": nn.LayerNorm(DIM),
            "after": nn.LayerNorm(DIM),
            "mix": Mixing(scores=scores, stopped=stopped),
            "place": nn.Embedding(9, DIM),
        }
        self.names, self.factor = names, factor
        for name, own in names.items():
            self.add_module(own, parts[name])
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn_like(parameter))

    def forward(self, x: Any) -> Any:
        parts = {name: getattr(self, own) for name, own in self.names.items()}
        numbers = torch.arange(x.shape[1])
        x = x + parts["place"](numbers if "before" in self.names.values() else numbers[None])
        mixed = parts["mix"](parts["before"](x))
        mixed = mixed[0] if isinstance(mixed, tuple) else mixed
        return parts["after"](x + self.factor * mixed)


OLD = {name: name for name in ("place", "before", "mix", "after")}
NEW = {"mix": "attention", "before": "norm1", "after": "norm2", "place": "positions"}


def test_weights_in_another_order_are_placed_if_the_two_then_agree() -> None:
    found = goldsmith.parity(Block(OLD), Block(NEW), x)
    assert found, str(found)
    assert any("placed by a guess, which the outputs confirm" in note for note in found.report.notes)


def test_if_they_do_not_agree_the_guess_is_told_and_the_lines_that_are_proposed_say_the_same(tmp_path: Path) -> None:
    unsure = goldsmith.parity(Block(OLD), Block(NEW, factor=1.1), x)
    assert unsure.outcome == "differs"
    assert unsure.first_divergence == "Block"
    assert "with weights placed by a guess" in str(unsure).splitlines()[0]
    adapter = tmp_path / "adapter.py"
    adapter.write_text("\n".join(["from goldsmith.adapter import rename", *unsure.report.adapter_lines]))
    found = goldsmith.parity(Block(OLD), Block(NEW, factor=1.1), x, adapter=adapter)
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == "Block"
    assert [item.name for item in found.modules if item.role == "source"] == [""]


def test_a_module_that_also_returns_its_scores_or_takes_one_more_axis_is_right() -> None:
    found = goldsmith.parity(Block(OLD, scores=True), Block(NEW), x)
    assert found, str(found)
    assert {item.role for item in found.modules} == {""}, str(found)


def test_what_it_passes_back_is_only_judged_where_both_return_the_same() -> None:
    found = goldsmith.parity(Block(OLD, scores=True), Block(OLD, stopped=True), x)
    assert [case.outcome for case in found.report.cases] == ["agrees", "differs"]
    assert found.first_divergence in ("", "Block"), "mix returns something else, so nothing can be said of it"
    alike = goldsmith.parity(Block(OLD), Block(OLD, stopped=True), x)
    assert alike.first_divergence == "mix"


class Feed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = RowsAreInputs(DIM, 9), RowsAreInputs(9, DIM)
        self.act, self.drop = nn.GELU(), nn.Dropout()

    def forward(self, x: Any) -> Any:
        return self.drop(self.down(self.act(self.up(x))))


def test_a_wrong_model_gets_its_weights_the_way_round_that_brings_it_nearest() -> None:
    class Odd(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.functional.gelu(x, approximate="tanh")

    wrong = nn.Sequential(nn.Linear(DIM, 9), Odd(), nn.Linear(9, DIM))
    found = goldsmith.parity(Feed(), wrong, x)
    assert found.outcome == "differs"
    assert found.first_divergence == "act", str(found)


class Tied(nn.Module):
    """The head is the embedding, or begins with the same numbers as if it were."""

    def __init__(self, *, tied: bool = True) -> None:
        super().__init__()
        self.tokens = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.tokens(ids))


def test_tied_weights_are_placed_by_name_and_untied_ones_differ_once_they_are_trained() -> None:
    ids = torch.tensor([[1, 2, 6]])
    found = goldsmith.parity(Tied(), Tied(), ids, steps=1)
    assert found, str(found)
    assert not found.report.notes
    assert {item.role for item in found.modules} == {""}
    untied = goldsmith.parity(Tied(), Tied(tied=False), ids, steps=1)
    assert [(case.name, case.outcome) for case in untied.report.cases] == [
        ("forward", "agrees"),
        ("gradients", "differs"),
        ("1 step", "differs"),
    ]


class Residual(nn.Module):  # type: ignore[misc, name-defined]
    """Two norms and a projection whose bias has the shape of a norm's weight, made in one of two orders."""

    def __init__(self, *names: str, factor: float = 2.0) -> None:
        super().__init__()
        self.names, self.factor = sorted(names, key=lambda name: name[-1]), factor
        for name in names:
            self.add_module(name, nn.Linear(3, 3) if name.endswith("3") else nn.LayerNorm(3))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn_like(parameter))

    def forward(self, x: Any) -> Any:
        before, after, inner = (getattr(self, name) for name in self.names)
        return after(x + self.factor * inner(before(x)))


@pytest.mark.parametrize(("factor", "outcome"), [(2.0, "agrees"), (3.0, "differs")])
def test_shapes_that_would_tear_a_module_apart_are_not_gone_by(factor: float, outcome: str) -> None:
    mine, theirs = Residual("before1", "after2", "inner3"), Residual("mix3", "norm1", "norm2", factor=factor)
    found = goldsmith.parity(mine, theirs, torch.randn(2, 3))
    assert found.outcome == outcome, str(found)
    assert 'rename("inner3.bias", "mix3.bias")' in found.report.adapter_lines

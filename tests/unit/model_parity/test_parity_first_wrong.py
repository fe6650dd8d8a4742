"""Which module a parity names, and in which words: never called, begins inside, inferred."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import goldsmith
from support.ports.pairs import port

pytestmark = pytest.mark.torch


# --- never called -----------------------------------------------------------------------------------------------------


class Head(nn.Module):
    """A projection, then an activation that may be wrong."""

    def __init__(self, how: str = "", wrong: bool = False) -> None:
        super().__init__()
        self.proj, self.act = nn.Linear(6, 6), nn.Tanh()
        self.how, self.wrong = how, wrong

    def forward(self, x: Any) -> Any:
        if self.how == "function":
            x = F.linear(x, self.proj.weight, self.proj.bias)
        elif not self.how:
            x = self.proj(x)
        found = torch.tanh(x) if self.how == "function" else self.act(x)
        return found * 1.5 if self.wrong else found


def test_a_module_whose_weights_are_used_by_a_function_is_not_said_to_be_skipped() -> None:
    found = goldsmith.parity(Head(), Head("function", wrong=True), torch.randn(3, 6))
    assert found.outcome == "differs"
    assert "never called" not in str(found)


def test_a_module_is_skipped_if_it_is_never_called_and_its_weights_are_unused() -> None:
    found = goldsmith.parity(Head(), Head("skipped"), torch.randn(3, 6))
    assert found.outcome == "differs"
    assert "proj is never called" in str(found)


def test_nothing_is_said_to_be_skipped_where_no_gradients_tell_which_weights_are_used() -> None:
    class Frozen(Head):
        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                return super().forward(x)

    found = goldsmith.parity(Head(), Frozen("function", wrong=True), torch.randn(3, 6), gradients=False)
    assert found.outcome == "differs"
    assert "never called" not in str(found)


# --- the first is the first -------------------------------------------------------------------------------------------


class Scaled(nn.Module):
    """A block that is told by how much to scale, or knows it."""

    def __init__(self, by: float, told: bool = False) -> None:
        super().__init__()
        self.proj, self.by, self.told = nn.Linear(6, 6), by, told

    def forward(self, x: Any, scale: Any = None) -> Any:
        return x + self.proj(x) * (scale if self.told else self.by)


class Blocks(nn.Module):
    def __init__(self, *blocks: Scaled) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x, torch.full((), 0.25)) if block.told else block(x)
        return x


def test_what_is_inferred_comes_before_what_was_seen_later_and_says_so() -> None:
    reference = Blocks(Scaled(0.5), Scaled(0.5), Scaled(0.5))
    found = goldsmith.parity(reference, Blocks(Scaled(0.5), Scaled(0, told=True), Scaled(0.75)), torch.randn(3, 6))
    assert found.first_divergence == "blocks.1"
    assert found.report.first_how == "inferred"
    headline, *_ = str(found).splitlines()
    assert "blocks.1 (Scaled) is inferred to be the first to go wrong" in headline
    assert [item.name for item in found.modules if item.role == "source"] == ["blocks.1", "blocks.2"]


def test_what_was_seen_first_is_said_to_be_seen() -> None:
    reference = Blocks(Scaled(0.5), Scaled(0.5), Scaled(0.5))
    found = goldsmith.parity(reference, Blocks(Scaled(0.5), Scaled(0.75), Scaled(0, told=True)), torch.randn(3, 6))
    assert (found.first_divergence, found.report.first_how) == ("blocks.1", "seen")
    assert "blocks.1 (Scaled) is the first to go wrong" in str(found).splitlines()[0]


# --- inside -----------------------------------------------------------------------------------------------------------


def test_tensors_with_their_axes_in_another_order_are_compared() -> None:
    found = port("towers").compare("gelu of texts")
    assert found.first_divergence == "text_model.encoder.layers.1.mlp.activation_fn", str(found)
    assert not [item.name for item in found.modules if item.role == "source" and "vision" in item.name]
    found = port("book").compare("eps of keys")
    assert found.first_divergence == "layers.1.self_attn.k_norm", "heads come first there"


@pytest.mark.parametrize(
    ("name", "mistake", "first"),
    [("towers", "patch order", "vision_model"), ("towers", "temperature", "CLIPModel"), ("speech", "stem", "encoder")],
)
def test_a_module_is_not_wrong_by_itself_where_those_inside_it_could_not_be_judged(
    name: str, mistake: str, first: str
) -> None:
    found = port(name).compare(mistake)
    assert (found.first_divergence, found.report.first_how) == (first, "inside"), str(found)
    headline, *rest = str(found).splitlines()
    assert "the difference begins inside " in headline
    assert "by itself" not in "".join(rest)
    assert "could not be judged" in "".join(rest)


def test_a_module_that_ends_elsewhere_than_the_reference_s_is_not_comparable() -> None:
    found = port("towers").compare("gelu of texts")
    (tower,) = (item for item in found.modules if item.name == "vision_model")
    assert (tower.role, tower.why) == ("unknown", "not comparable: it returns 3×24 in the reference, 3×10 here")


def test_what_is_given_an_input_that_cannot_be_compared_is_inferred_unless_another_shows_it_to_be_right() -> None:
    reference = Blocks(Scaled(0.5), Scaled(0.5))
    found = goldsmith.parity(reference, Blocks(Scaled(0, told=True), Scaled(0.5)), torch.randn(3, 6))
    assert (found.first_divergence, found.report.first_how) == ("blocks.0", "inferred")
    found = port("book").compare("scale")
    assert (found.first_divergence, found.report.first_how) == ("layers.1.self_attn", "seen"), "layers.0 is right"


def test_a_mistake_too_small_for_a_module_s_tolerance_is_named_where_the_whole_differs() -> None:
    found = port("gpt").compare("eps")
    assert found.first_divergence == "layers.1.post_attention_layernorm", str(found)

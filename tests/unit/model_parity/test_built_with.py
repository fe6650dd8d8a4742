"""What two models were built with is compared by name and value, and told before any number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import goldsmith
from goldsmith.model_parity.built_with import differences
from goldsmith.runs.live.configurations import built_with_of

pytestmark = pytest.mark.torch
X = torch.ones(2, 4)


@dataclass
class Config:
    width: int = 4
    rope_theta: float = 10000.0
    layers: int = 2
    scaling: dict[str, Any] = field(default_factory=dict)


class LikeHuggingFace:
    """Keeps its entries elsewhere, and says them when asked."""

    __slots__ = ("_kept",)

    def __init__(self, **kept: Any) -> None:
        self._kept = kept

    def to_dict(self) -> dict[str, Any]:
        return self._kept


class Pair(NamedTuple):
    width: int
    layers: int
    rope_theta: float


class Net(nn.Module):
    def __init__(self, config: Any, theta: float = 1.0) -> None:
        super().__init__()
        self.config, self.theta = config, theta
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.layer(x) * self.theta


FORMS: dict[str, Callable[..., Any]] = {
    "dict": lambda **entries: entries,
    "namespace": lambda **entries: SimpleNamespace(**entries),
    "to_dict": lambda **entries: LikeHuggingFace(**entries),
    "tuple": lambda **entries: Pair(**entries),
}


def told(one: Any, two: Any) -> tuple[str, ...]:
    return differences(built_with_of(one), built_with_of(two))


@pytest.mark.parametrize("form", FORMS)
def test_entries_of_the_same_name_and_another_value_are_told_whatever_holds_them(form: str) -> None:
    other = FORMS[form](width=4, layers=2, rope_theta=500000)
    assert told(Net(Config()), Net(other)) == ("rope_theta 10000 and 500000",)
    assert told(Net(other), Net(Config())) == ("rope_theta 500000 and 10000",)
    assert told(Net(Config()), Net(FORMS[form](width=4, layers=2, rope_theta=10_000))) == ()


def test_it_is_told_before_any_number_and_where_weights_do_not_fit() -> None:
    found = goldsmith.parity(Net(Config()), Net(Config(rope_theta=5e5), theta=2.0), X, gradients=False)
    assert found.report.built_with == ("rope_theta 10000 and 500000", "theta 1 and 2")
    text = str(found)
    assert text.index("Built with: rope_theta 10000 and 500000; theta 1 and 2.") < text.index("compared")
    assert "Built with: rope_theta" in found._repr_html_()
    wider = Net(Config(width=8))
    wider.layer = nn.Linear(8, 8)
    failed = goldsmith.parity(Net(Config()), wider, X)
    assert (failed.outcome, failed.report.built_with) == ("could-not-run", ("width 4 and 8",))
    in_step = goldsmith.parity(Net(Config()), Net(Config(layers=3)), X, in_step=True)
    assert in_step.report.built_with == ("layers 2 and 3",)


def test_what_one_of_two_configurations_ignores_is_told_where_they_are_of_the_same_form() -> None:
    mine = {"width": 4, "layers": 2, "window": 128, "bias": False}
    assert told(Net(mine), Net({"width": 4, "layers": 2})) == ("window 128, which the candidate does not have",)
    assert told(Net(mine), Net({"width": 4})) == (), "this says little in any case"


def test_an_entry_that_the_modules_do_not_follow_is_told() -> None:
    class Rotary(nn.Module):
        def __init__(self, rope_theta: float) -> None:
            super().__init__()
            self.rope_theta = rope_theta

    class Rotated(Net):
        def __init__(self, config: Config, rope_theta: float) -> None:
            super().__init__(config)
            self.rotary = Rotary(rope_theta)

    right, ignoring = Rotated(Config(), 1e4), Rotated(Config(), 5e5)
    assert told(right, ignoring) == ("rope_theta 10000 and 500000",)
    assert told(Net(Config()), ignoring) == (
        "rope_theta 10000 in both configurations, and 500000 in the candidate's modules",
    )


def test_nested_entries_and_arguments_of_functions() -> None:
    one, two = ({"rope": {"scaling": {"factor": factor}}, "sizes": [1, factor]} for factor in (8, 4.0))
    assert told(Net(one), Net(two)) == ("rope.scaling.factor 8 and 4", "sizes (1, 8) and (1, 4)")
    partial = (functools.partial(torch.nn.functional.softmax, dim=dim) for dim in (0, -1))
    assert told(*partial) == ("dim 0 and -1",)


class Hostile:
    """Fails, is endless or large in every way that is asked for."""

    def __init__(self, depth: Any = None, eps: float = 1e-5) -> None:
        self.large, self.itself, self.eps = torch.ones(10_000), self, eps
        self.text = "x" * 10_000

    @property
    def depth(self) -> int:
        raise RuntimeError("not today")

    def to_dict(self) -> dict[str, Any]:
        raise KeyError("nor this")

    def __repr__(self) -> str:
        raise AssertionError("nothing needs this")


def test_what_fails_is_large_or_holds_itself_is_passed_over() -> None:
    found = built_with_of(Net(Hostile()))
    assert found.config["eps"] == "1e-05"
    assert all(len(text) <= 60 for text in found.config.values())
    assert not any("large" in name for name in found.config)
    assert told(Net(Hostile()), Net(Hostile(eps=1e-6))) == ("eps 1e-05 and 1e-06",)
    many = {f"n{number}": number for number in range(10_000)}
    assert len(built_with_of(Net(many)).config) == 500
    odd = {"huge": 10**5000, "large": 2**70, "nan": float("nan"), "inf": float("inf"), "none": None}
    assert built_with_of(Net(odd)).config == {"large": hex(2**70), "nan": "nan", "inf": "inf"}

"""Weights go from torch's models into JAX's, and back, by themselves; by a layout in which the two agree, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
import torch

import goldsmith
from support.jax_ports import (
    DIM,
    WORDS,
    Attention,
    EqxImages,
    EqxMlp,
    EqxNormed,
    EqxUp,
    Images,
    KeysAsQueries,
    Layers,
    Mlp,
    NnxAttention,
    NnxImages,
    NnxMlp,
    NnxTied,
    NnxUp,
    NormedMlp,
    Scanned,
    Tied,
    TorchImages,
    TurnedMlp,
    Up,
    function_mlp,
    linen_images,
    scrambled,
)


@dataclass(frozen=True)
class Case:
    """A model of torch's, the same in JAX, inputs, and what is told of where the weights went."""

    old: Callable[[], Any]
    new: Callable[[], Any]
    told: str
    inputs: Callable[[], Any] = lambda: torch.randn(4, DIM)
    channels_last: bool = False


def sequences() -> Any:
    return torch.randn(2, 5, DIM)


def images() -> Any:
    return torch.randn(2, 3, 8, 8)


def features() -> Any:
    return torch.randn(2, DIM, 4, 4)


def tokens() -> Any:
    return torch.randint(0, WORDS, (2, 5))


CASES = {
    "MLP in NNX": Case(Mlp, NnxMlp, "fc1 as fc1, turned"),
    "MLP as a function": Case(Mlp, function_mlp, "fc1 as fc1, turned"),
    "images in NNX": Case(Images, NnxImages, "axes o i h w -> h w i o", images, channels_last=True),
    "images in linen": Case(Images, linen_images, "axes o i h w -> h w i o", images, channels_last=True),
    "images in Equinox": Case(TorchImages, lambda: eqx.filter_vmap(EqxImages()), "", images),
    "attention": Case(Attention, NnxAttention, "in_proj as query + key + value, axes (h d) e -> e h d", sequences),
    "layers in one kernel": Case(Layers, Scanned, "layers as layers, turned"),
    "a head that is the table": Case(Tied, NnxTied, "fc as fc, turned", tokens),
    "weight norm in Equinox": Case(NormedMlp, lambda: eqx.filter_vmap(EqxNormed()), "fc as fc"),
    "a transposed convolution": Case(
        Up, lambda: NnxUp(False), "up as up, axes i o h w -> -h -w i o", features, channels_last=True
    ),
    "one with transpose_kernel": Case(
        Up, lambda: NnxUp(True), "up as up, axes o i h w -> h w i o", features, channels_last=True
    ),
    "one in Equinox": Case(Up, lambda: eqx.filter_vmap(EqxUp()), "up as up, axes i o h w -> o i -h -w", features),
}


def last(x: Any) -> Any:
    return x.permute(0, 2, 3, 1)


def first(x: Any) -> Any:
    return x.transpose(0, 3, 1, 2)


@pytest.mark.parametrize("name", CASES)
def test_a_port_to_jax_agrees_without_an_adapter(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    own = {"inputs_candidate": last} if case.channels_last else {}
    found = goldsmith.parity(scrambled(case.old()).eval(), case.new(), case.inputs(), **own)
    assert found, str(found)
    assert len(found.report.cases) == 2, "gradients are compared as well"
    assert case.told in str(found)
    if case.told:
        assert found.write_adapter(tmp_path / "adapter.py")
        again = goldsmith.parity(
            scrambled(case.old()).eval(), case.new(), case.inputs(), adapter=tmp_path / "adapter.py", **own
        )
        assert again, str(again)
        assert "guess" not in str(again)


@pytest.mark.parametrize("name", ["MLP in NNX", "images in NNX", "attention", "layers in one kernel"])
def test_a_port_from_jax_agrees_without_an_adapter(name: str) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    given = case.inputs()
    own = {"inputs_candidate": first} if case.channels_last else {}
    inputs = jnp.asarray((last(given) if case.channels_last else given).numpy())
    found = goldsmith.parity(case.new(), case.old().eval(), inputs, **own)
    assert found, str(found)


def test_two_libraries_of_jax_agree_without_an_adapter() -> None:
    found = goldsmith.parity(NnxMlp(), eqx.filter_vmap(EqxMlp()), jax.random.normal(jax.random.key(1), (4, DIM)))
    assert found, str(found)


def converted(state: dict[str, Any]) -> dict[str, Any]:
    """Convert torch's weights as a function of the user's does, which is given arrays of JAX."""
    new = {"weight": "scale", "bias": "bias"}
    found = {f"norm.{new[leaf]}": state[f"norm.{leaf}"] for leaf in new}
    for name in ("fc1", "fc2"):
        found |= {f"{name}.kernel": state[f"{name}.weight"].T, f"{name}.bias": state[f"{name}.bias"]}
    return found


def test_a_function_converts_weights_and_gradients_come_back_through_it() -> None:
    torch.manual_seed(0)
    found = goldsmith.parity(scrambled(Mlp()), NnxMlp(), torch.randn(4, DIM), convert=converted)
    assert found, str(found)
    assert len(found.report.cases) == 2, "gradients are compared as well"


def test_numbers_that_a_port_holds_already_are_recognised() -> None:
    torch.manual_seed(0)
    old, new = scrambled(Mlp()), NnxMlp()
    for name, value in converted({name: jnp.asarray(item.numpy()) for name, item in old.state_dict().items()}).items():
        module, leaf = name.split(".")
        getattr(getattr(new, module), leaf)[...] = value
    found = goldsmith.parity(old, new, torch.randn(4, DIM), weights=False)
    assert found, str(found)
    assert len(found.report.cases) == 2, "gradients are compared as well"
    assert not any("holds" in note for note in found.report.notes), str(found)


@pytest.mark.parametrize(
    ("reference", "wrong", "said"),
    [(Mlp, TurnedMlp, "fc1"), (Attention, KeysAsQueries, "Next, look at attn")],
)
def test_no_layout_makes_a_wrong_port_agree(reference: Any, wrong: Any, said: str) -> None:
    torch.manual_seed(0)
    found = goldsmith.parity(scrambled(reference()), wrong(), sequences())
    assert found.outcome == "differs", str(found)
    assert said in str(found)

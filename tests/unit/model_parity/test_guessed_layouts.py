"""Where the weights of one library's layers go in another's, guessed from names, shapes and kinds alone: every number
comes to its place, in both directions, and what shapes leave open is among the guesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import KERNEL, LINEAR, TABLE, Described
from goldsmith.weights.guesses import WeightGuess, guess_places
from goldsmith.weights.rule_lines import adapter_text, line_of
from goldsmith.weights.rules import Adapter, read_adapter, rule_of
from goldsmith.weights.transplant import plan
from goldsmith.weights.units import names_to_place

Arrays = Mapping[str, Any]
E, H, D = 12, 3, 4


@dataclass(frozen=True)
class Layers:
    """Weights of torch's, the same elsewhere, which of both are of which kind, and classes of modules."""

    torch: Mapping[str, tuple[int, ...]]
    other: Callable[[Arrays], dict[str, Any]]
    linear: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    layers: Mapping[str, str] = field(default_factory=dict)
    at: int = 0
    """Which of the guesses is the right one."""

    def sides(self) -> tuple[tuple[Described, Arrays], tuple[Described, Arrays]]:
        draw = np.random.default_rng(0)
        mine = {name: draw.normal(size=shape) for name, shape in self.torch.items()}
        return (
            (_described("torch", mine, dict.fromkeys(self.linear, LINEAR), self.layers), mine),
            (_described("jax", self.other(mine), dict.fromkeys(self.rows, LINEAR), self.layers), self.other(mine)),
        )


def _described(library: str, arrays: Arrays, kinds: dict[str, str], layers: Mapping[str, str]) -> Described:
    of_names = {"kernel": KERNEL, "embedding": TABLE}
    buffers = ("running_mean", "running_var", "mean", "var", "num_batches_tracked")
    leaves = {name: name.rpartition(".")[2] for name in arrays}
    return Described(
        name="Model",
        library=library,
        is_module=True,
        weights={name: np.shape(item) for name, item in arrays.items()},
        kinds={name: of_names[leaf] for name, leaf in leaves.items() if leaf in of_names} | kinds,
        facts=WeightFacts(tuple(name for name, leaf in leaves.items() if leaf in buffers)),
        modules={"": "Model", **layers},
    )


def mlp(names: str, sizes: tuple[int, ...] = (6, 8, 8, 5)) -> Layers:
    """A chain of matrices, square ones among them, under names with the number in them."""
    count = len(sizes) - 1
    weights = {f"fc{n}.weight": (sizes[n + 1], sizes[n]) for n in range(count)}
    biases = {f"fc{n}.bias": (sizes[n + 1],) for n in range(count)}

    def other(own: Arrays) -> dict[str, Any]:
        found = {f"{names.format(n)}.kernel": own[f"fc{n}.weight"].T for n in range(count)}
        return found | {f"{names.format(n)}.bias": own[f"fc{n}.bias"] for n in range(count)}

    return Layers(weights | biases, other, linear=tuple(weights))


def attention(fused: bool, own_names: tuple[str, str, str, str], their_names: tuple[str, str, str, str]) -> Layers:
    """Projections by head, where torch has matrices of them, or one."""
    *parts, out = own_names
    if fused:
        weights = {"attn.in_proj_weight": (3 * E, E), "attn.in_proj_bias": (3 * E,)}
    else:
        weights = {f"attn.{name}.weight": (E, E) for name in parts} | {f"attn.{name}.bias": (E,) for name in parts}
    weights |= {f"attn.{out}.weight": (E, E), f"attn.{out}.bias": (E,)}
    linear = [name for name in weights if name.endswith(".weight")]

    def other(own: Arrays) -> dict[str, Any]:
        matrices = np.split(own["attn.in_proj_weight"], 3) if fused else [own[f"attn.{name}.weight"] for name in parts]
        biases = np.split(own["attn.in_proj_bias"], 3) if fused else [own[f"attn.{name}.bias"] for name in parts]
        found = {}
        for name, matrix, bias in zip(their_names, matrices, biases, strict=False):
            found |= {f"attn.{name}.kernel": matrix.T.reshape(E, H, D), f"attn.{name}.bias": bias.reshape(H, D)}
        kernel = own[f"attn.{out}.weight"].T.reshape(H, D, E)
        return found | {f"attn.{their_names[3]}.kernel": kernel, f"attn.{their_names[3]}.bias": own[f"attn.{out}.bias"]}

    return Layers(weights, other, linear=tuple(linear))


def convolution(channels: tuple[int, int], grid: str, **options: Any) -> Layers:
    shape = (channels[1], channels[0], *range(3, 3 + len(grid)))
    return Layers(
        {"conv.weight": shape, "conv.bias": (channels[1],)},
        lambda own: {"conv.kernel": np.moveaxis(own["conv.weight"], (0, 1), (-1, -2)), "conv.bias": own["conv.bias"]},
        **options,
    )


def transposed(channels: tuple[int, int], *, flipped: bool, at: int = 0) -> Layers:
    """A transposed convolution; without `transpose_kernel`, Flax's is reversed."""

    def other(own: Arrays) -> dict[str, Any]:
        weight = own["up.weight"]
        kernel = np.flip(weight, (2, 3)).transpose(2, 3, 0, 1) if flipped else weight.transpose(2, 3, 1, 0)
        return {"up.kernel": kernel, "up.bias": own["up.bias"]}

    weights = {"up.weight": (*channels, 4, 4), "up.bias": (channels[1],)}
    return Layers(weights, other, layers={"up": "ConvTranspose"}, at=at)


def norms(names: tuple[str, str]) -> Layers:
    weights = {"conv.weight": (8, 3, 3, 3), "bn.weight": (8,), "bn.bias": (8,)}
    weights |= {"bn.running_mean": (8,), "bn.running_var": (8,), "bn.num_batches_tracked": ()}
    new = {"weight": "scale", "bias": "bias", "running_mean": "mean", "running_var": "var"}

    def other(own: Arrays) -> dict[str, Any]:
        found = {f"{names[0]}.kernel": own["conv.weight"].transpose(2, 3, 1, 0)}
        return found | {f"{names[1]}.{leaf}": own[f"bn.{old}"] for old, leaf in new.items()}

    return Layers(weights, other)


def stacked(kernel: str) -> Layers:
    """Three layers in one kernel, for `scan`."""
    weights = {
        f"layers.{n}.{leaf}": shape for n in range(3) for leaf, shape in (("q.weight", (E, E)), ("q.bias", (E,)))
    }

    def other(own: Arrays) -> dict[str, Any]:
        matrices = np.stack([own[f"layers.{n}.q.weight"].T for n in range(3)])
        biases = np.stack([own[f"layers.{n}.q.bias"] for n in range(3)])
        if kernel == "heads":
            matrices, biases = matrices.reshape(3, E, H, D), biases.reshape(3, H, D)
        return {"layers.query.kernel": matrices, "layers.query.bias": biases}

    return Layers(weights, other, linear=tuple(name for name in weights if name.endswith("weight")))


def deep(pattern: str) -> Layers:
    """Layers whose numbers have two digits, which are not in the order of their names elsewhere."""
    weights = {f"layers.{n}.attn.{leaf}.weight": (E, E) for n in range(11) for leaf in ("q_proj", "o_proj")}
    weights["norm.weight"] = (E,)

    def other(own: Arrays) -> dict[str, Any]:
        found = {
            f"{pattern.format(name.split('.')[1])}.attn.{name.split('.')[3]}.kernel": own[name].T
            for name in own
            if "attn" in name
        }
        return dict(sorted((found | {"norm.scale": own["norm.weight"]}).items()))

    return Layers(weights, other, linear=tuple(weights)[:-1])


def equinox() -> Layers:
    """Equinox has torch's layouts, but for biases of convolutions, and transposed ones."""
    weights = {"conv.weight": (8, 3, 3, 3), "conv.bias": (8,), "up.weight": (8, 8, 2, 2), "up.bias": (8,)}
    weights |= {"head.weight": (8, 8), "head.bias": (8,)}

    def other(own: Arrays) -> dict[str, Any]:
        found = dict(own) | {name: own[name].reshape(-1, 1, 1) for name in ("conv.bias", "up.bias")}
        return found | {"up.weight": np.flip(own["up.weight"], (2, 3)).swapaxes(0, 1)}

    return Layers(weights, other, linear=("head.weight",), rows=("head.weight",), layers={"up": "ConvTranspose2d"})


def normed(weight: str, size: str, new: tuple[str, str, str]) -> Layers:
    """A matrix whose weight is normed, in torch's two forms."""
    weights = {f"fc.{size}": (8, 1), f"fc.{weight}": (8, 6), "fc.bias": (8,)}

    def other(own: Arrays) -> dict[str, Any]:
        return dict(zip(new, (own[f"fc.{weight}"], own["fc.bias"], own[f"fc.{size}"]), strict=True))

    return Layers(weights, other, layers={"fc": "ParametrizedLinear"})


EQX_NORMED = ("fc.layer.weight", "fc.layer.bias", "fc.g")
PARAMETRIZED = ("parametrizations.weight.original1", "parametrizations.weight.original0")
QKVO = ("q_proj", "k_proj", "v_proj", "out_proj")
FLAX = ("query", "key", "value", "out")
CASES = {
    "NNX's matrices": mlp("fc{}"),
    "linen's matrices by other names": mlp("Dense_{}"),
    "square matrices alone": mlp("fc{}", (8, 8, 8)),
    "projections by head": attention(False, QKVO, FLAX),
    "q, k and v of one matrix, by head": attention(True, ("", "", "", "out_proj"), FLAX),
    "a convolution": convolution((3, 8), "hw"),
    "a convolution that keeps its channels": convolution((8, 8), "hw"),
    "a convolution in one dimension": convolution((3, 8), "w"),
    "a convolution in three": convolution((3, 8), "dhw"),
    "a depthwise convolution": convolution((1, 8), "hw"),
    "a transposed convolution": transposed((3, 8), flipped=True),
    "one that keeps its channels": transposed((8, 8), flipped=True),
    "one with transpose_kernel": transposed((3, 8), flipped=False),
    "one with transpose_kernel that keeps its channels": transposed((8, 8), flipped=False, at=1),
    "norms of NNX": norms(("conv", "bn")),
    "norms of linen": norms(("Conv_0", "BatchNorm_0")),
    "layers in one kernel": stacked(""),
    "layers in one kernel by head": stacked("heads"),
    "layers in a list": deep("layers.{}"),
    "layers with their number in the name": deep("layers_{}"),
    "layers named by their class": deep("Block_{}"),
    "Equinox": equinox(),
    "weight norm of Equinox": normed(*PARAMETRIZED, EQX_NORMED),
    "weight norm, torch's older form": normed("weight_v", "weight_g", EQX_NORMED),
}


@pytest.mark.parametrize("direction", ["to torch", "from torch"])
@pytest.mark.parametrize("case", CASES)
def test_every_number_comes_to_its_place(case: str, direction: str) -> None:
    (mine, given), (theirs, wanted) = CASES[case].sides() if direction == "from torch" else CASES[case].sides()[::-1]
    guesses = guess_places(mine, theirs)
    right = [
        number for number, guess in enumerate(guesses) if not guess.missing and _is_right(guess, mine, given, wanted)
    ]
    assert CASES[case].at in right, [[pair.words for pair in guess.pairs] for guess in guesses]


def _is_right(guess: WeightGuess, mine: Described, given: Arrays, wanted: Arrays) -> bool:
    """Say whether the lines that an adapter would have put every number where it belongs, and back."""
    rules = [rule_of(rule.gold, rule.theirs, rule.transpose, rule.by_head, rule.axes) for rule in guess.rules]
    adapter = Adapter(rules=rules, rules_first=True)
    names = names_to_place(mine)
    text = adapter_text([line_of(rule) for rule in adapter.rules])
    assert read_adapter(text.encode(), "adapter.py").rules == adapter.rules
    free = {name: np.shape(item) for name, item in wanted.items()}
    placed = plan({name: np.shape(given[name]) for name in names}, free, adapter, "", {"num_heads": H}).placed
    for item in placed:
        there = item.carry([given[name] for name in item.gold])
        if not all(np.array_equal(one, wanted[name]) for name, one in zip(item.theirs, there, strict=True)):
            return False
        back = item.bring_back(there)
        assert all(np.array_equal(one, given[name]) for name, one in zip(item.gold, back, strict=True))
    return True

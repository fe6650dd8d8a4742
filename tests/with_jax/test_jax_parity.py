"""Two models are compared whatever they are written in; the first wrong module is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from torch import nn

import goldsmith
from goldsmith.errors.base import GoldsmithError


class Torch(nn.Module):
    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(8, 16), nn.LayerNorm(16, eps), nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


class Nnx(nnx.Module):
    def __init__(self, eps: float = 1e-5) -> None:
        rngs = nnx.Rngs(0)
        self.fc1, self.fc2 = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 4, rngs=rngs)
        self.norm = nnx.LayerNorm(16, epsilon=eps, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.fc2(nnx.relu(self.norm(self.fc1(x))))


class Jitted(Nnx):
    @nnx.jit
    def __call__(self, x: Any) -> Any:
        return self.fc2(nnx.relu(self.norm(self.fc1(x))))


class Single(eqx.Module):
    fc1: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    fc2: eqx.nn.Linear

    def __init__(self, eps: float = 1e-5) -> None:
        keys = jax.random.split(jax.random.key(1))
        self.fc1, self.norm = eqx.nn.Linear(8, 16, key=keys[0]), eqx.nn.LayerNorm(16, eps=eps)
        self.fc2 = eqx.nn.Linear(16, 4, key=keys[1])

    def __call__(self, x: Any) -> Any:
        return self.fc2(jax.nn.relu(self.norm(self.fc1(x))))


class Linen(flax.linen.Module):
    eps: float = 1e-5

    @flax.linen.compact
    def __call__(self, x: Any) -> Any:
        x = flax.linen.LayerNorm(epsilon=self.eps, name="norm")(flax.linen.Dense(16, name="fc1")(x))
        return flax.linen.Dense(4, name="fc2")(flax.linen.relu(x))


def equinox(eps: float = 1e-5) -> Any:
    return eqx.filter_vmap(Single(eps))


def linen(eps: float = 1e-5) -> Any:
    return Linen(eps), Linen(eps).init(jax.random.key(2), jnp.ones((1, 8)))


def function(eps: float = 1e-5) -> Any:
    def run(given: Any, x: Any) -> Any:
        hidden = x @ given["fc1"]["kernel"] + given["fc1"]["bias"]
        hidden = (hidden - hidden.mean(-1, keepdims=True)) / jnp.sqrt(hidden.var(-1, keepdims=True) + eps)
        hidden = hidden * given["norm"]["scale"] + given["norm"]["bias"]
        return jax.nn.relu(hidden) @ given["fc2"]["kernel"] + given["fc2"]["bias"]

    return linen()[1]["params"], run


MAKES: dict[str, Callable[..., Any]] = {
    "torch": Torch,
    "nnx": Nnx,
    "equinox": equinox,
    "linen": linen,
    "linen without variables": Linen,
    "function": function,
}
NUMBERS = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
PAIRS = [
    ("torch", "function"),
    ("nnx", "torch"),
    ("linen", "torch"),
    ("function", "torch"),
    ("equinox", "linen"),
    ("linen", "nnx"),
    ("torch", "linen without variables"),
    ("linen without variables", "nnx"),
]


def inputs(framework: str) -> Any:
    return torch.from_numpy(NUMBERS) if framework == "torch" else jnp.asarray(NUMBERS)


@pytest.mark.parametrize(("mine", "theirs"), PAIRS)
def test_a_right_port_agrees_in_float64_with_no_adapter(mine: str, theirs: str) -> None:
    found = goldsmith.parity(MAKES[mine](), MAKES[theirs](), inputs(mine))
    assert found, str(found)
    assert [case.name for case in found.report.cases] == ["forward", "gradients"]
    assert "judged in their own dtype" not in str(found)


@pytest.mark.parametrize(("mine", "theirs"), PAIRS)
def test_the_wrong_module_of_a_wrong_one_is_named(mine: str, theirs: str) -> None:
    found = goldsmith.parity(MAKES[mine](), MAKES[theirs](1e-2), inputs(mine))
    assert found.outcome == "differs", str(found)
    has_modules = "function" not in (mine, theirs)
    assert found.first_divergence == ("norm" if has_modules else "run" if mine == "function" else "Torch")


def test_both_models_stay_as_they_were() -> None:
    mine, theirs = Torch(), Nnx()
    before = theirs.fc1.kernel[...]
    goldsmith.parity(mine, theirs, inputs("torch"))
    assert theirs.fc1.kernel[...] is before


def test_functions_need_no_models() -> None:
    def written_out(x: Any) -> Any:
        return jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)

    assert goldsmith.parity(jax.nn.softmax, written_out, inputs("nnx"))
    found = goldsmith.parity(jax.nn.softmax, lambda x: written_out(x) * 1.001, inputs("nnx"))
    assert found.outcome == "differs"


def test_a_superfluous_stop_gradient_is_found() -> None:
    class Cut(Nnx):
        def __call__(self, x: Any) -> Any:
            return self.fc2(jax.lax.stop_gradient(nnx.relu(self.norm(self.fc1(x)))))

    found = goldsmith.parity(Torch(), Cut(), inputs("torch"))
    assert [case.name for case in found.report.cases if case.outcome == "differs"] == ["gradients"]


def test_plain_steps_are_the_same_in_both() -> None:
    assert goldsmith.parity(Torch(), Nnx(), inputs("torch"), steps=3)


def test_each_side_has_its_own_optimiser() -> None:
    def adam(parameters: Any) -> Any:
        return torch.optim.Adam(parameters, lr=1e-3)

    def compared(own: Any) -> Any:
        return goldsmith.parity(Torch(), Nnx(), inputs("torch"), steps=2, optimizer=adam, optimizer_candidate=own)

    assert compared(optax.adam(1e-3))
    assert compared(lambda parameters: optax.adam(1e-3))
    assert compared(optax.adam(1e-3, eps=1e-2)).outcome == "differs"
    assert "optimizer cannot be made of a dict of arrays" in str(compared(None))


def test_what_is_inside_of_jit_is_said_not_to_be_seen() -> None:
    found = goldsmith.parity(Torch(), Jitted(1e-2), inputs("torch"))
    assert found.first_divergence == "Torch"
    assert "calls of fc1, fc2, norm of the candidate were not seen; inside of jit" in str(found)


def test_a_jitted_module_of_equinox_is_looked_into() -> None:
    found = goldsmith.parity(Torch(), eqx.filter_jit(equinox(1e-2)), inputs("torch"))
    assert found.first_divergence == "norm"


# --- what cannot be compared


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (lambda: nnx.split(Nnx()), "the candidate is a pair, but not of a module and its variables"),
        (lambda: ({"a": "text"}, len), "or of parameters that are arrays and a function of them"),
        (lambda: Nnx, "the candidate is the class Nnx"),
    ],
)
def test_what_is_no_model_is_told_in_a_sentence(candidate: Callable[[], Any], words: str) -> None:
    with pytest.raises(GoldsmithError) as told:
        goldsmith.parity(Torch(), candidate(), inputs("torch"))
    assert words in str(told.value)


def test_weights_that_were_given_away_are_told() -> None:
    candidate = Nnx()
    candidate.fc1.kernel[...].delete()
    with pytest.raises(GoldsmithError, match=r"fc1.kernel of the model is an array whose memory was donated"):
        goldsmith.parity(Torch(), candidate, inputs("torch"))


class Lifted(flax.linen.Module):
    factor: float = 1.0

    @flax.linen.compact
    def __call__(self, x: Any) -> Any:
        return jnp.tanh(flax.linen.Dense(4)(x)) * self.factor


class OfMany(flax.linen.Module):
    factor: float = 1.0

    @flax.linen.compact
    def __call__(self, x: Any) -> Any:
        lifted = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
        many = flax.linen.vmap(Lifted, in_axes=None, axis_size=3, **lifted)(self.factor)
        chain = flax.linen.scan(lambda layer, x, _: (layer(x), None), length=2, **lifted)
        return flax.linen.Dense(2)(chain(Lifted(), many(flax.linen.Dense(4)(x)).sum(0), None)[0])


def test_modules_that_linen_lifts_are_not_called_alone() -> None:
    mine, theirs = ((net, net.init(jax.random.key(0), jnp.ones((2, 4)))) for net in (OfMany(), OfMany(factor=1.1)))
    assert goldsmith.parity(mine, mine, jnp.ones((2, 4)))
    report = goldsmith.parity(mine, theirs, jnp.ones((2, 4))).report
    assert {item.name for item in report.modules} == {"", "Dense_0", "Dense_1"}
    assert [item.name for item in report.modules if item.role == "source"] == [""]


DEVICES = """
import jax, jax.numpy as jnp, numpy as np
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import goldsmith

one, two = jax.devices()
spread = NamedSharding(Mesh(np.array([one, two]), ("rows",)), PartitionSpec("rows"))
for place in (two, spread):
    mine, theirs = (nnx.Linear(4, 4, rngs=nnx.Rngs(0)) for _ in range(2))
    theirs.kernel.set_value(jax.device_put(theirs.kernel[...], place))
    print(goldsmith.parity(mine, theirs, jnp.ones((2, 4))))
    theirs.bias.set_value(jax.device_put(theirs.bias[...], place))
    print(goldsmith.parity(mine, theirs, jax.device_put(jnp.ones((2, 4)), place)))
"""


def test_models_on_several_devices_are_told_or_agree() -> None:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", DEVICES], capture_output=True, text=True, env=os.environ | flags)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.count("the candidate cannot be run on the inputs: ValueError: Received incompatible devices") == 2
    )
    assert "simplicity" not in done.stdout


def test_models_of_jax_do_not_run_in_step() -> None:
    with pytest.raises(GoldsmithError, match="in_step=True cannot be used together with a model of jax"):
        goldsmith.parity(Torch(), Nnx(), inputs("torch"), in_step=True)


def test_a_port_with_fewer_layers_differs() -> None:
    class Fewer(nnx.Module):
        def __init__(self) -> None:
            self.fc1, self.fc2 = nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.Linear(16, 4, rngs=nnx.Rngs(1))

        def __call__(self, x: Any) -> Any:
            return self.fc2(nnx.relu(self.fc1(x)))

    found = goldsmith.parity(Torch(), Fewer(), inputs("torch"))
    assert found.outcome == "differs"
    assert "norm.weight" in str(found)


# --- on the command line

SIDES = {
    "in_torch.py": """
        import sys
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.outer = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)

            def forward(self, x, scale):
                assert "jax" not in sys.modules
                return self.outer(torch.tanh(self.inner(x))) * scale
    """,
    "in_jax.py": """
        import sys
        import jax
        import jax.numpy as jnp

        parameters = {
            name: {"kernel": jnp.ones(shape), "bias": jnp.ones(shape[1])}
            for name, shape in {"inner": (4, 6), "outer": (6, 2)}.items()
        }

        def net(given, x, scale):
            assert "torch" not in sys.modules
            assert isinstance(x, jax.Array)
            for name in ("inner", "outer"):
                x = x @ given[name]["kernel"] + given[name]["bias"]
                x = jnp.tanh(x) if name == "inner" else x
            return x * scale

        pair = parameters, net

        def make():
            return pair
    """,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from textwrap import dedent

    for name, text in SIDES.items():
        (tmp_path / name).write_text(dedent(text), encoding="utf-8")
    return tmp_path


OPTIONS = {
    "torch is the reference": ["in_torch.py:Net", "in_jax.py:make", "--init", "", "--input", "torch.randn(3, 4), 2.0"],
    "jax is the reference": [
        "in_jax.py:pair", "in_torch.py:Net", "--init-candidate", "", "--input", "jnp.eye(4) / 3, 2.0",
    ],
}  # fmt: skip
OPTIONS |= {f"{name}, in bfloat16": [*options, "--dtype", "bfloat16"] for name, options in OPTIONS.items()}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_each_process_imports_its_own_library_alone(folder: Path, options: list[str]) -> None:
    command = [sys.executable, "-c", "from goldsmith.cli import run; run()", "parity", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_functions_that_are_given_numpys_arrays_have_no_gradients_to_compare() -> None:
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    found = goldsmith.parity(lambda x: jnp.tanh(x) * 2, lambda x: 2 * jnp.tanh(x), x)
    assert found, str(found)
    assert "gradients are not compared: the reference's output has none" in found.report.notes
    compiled = goldsmith.parity(lambda x: jnp.tanh(x) * 2, lambda x: 2 * jnp.tanh(x), x, compiled=True)
    assert (compiled.outcome, compiled.report.exit_code) == ("could-not-run", 3)
    assert "compiled" in compiled.report.reason

"""What crosses between torch and JAX: arrays, functions and models, with what they pass back."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest
import torch
from flax import linen, nnx

from goldsmith.frameworks.framework import conditions, framework
from goldsmith.weights.crossing import NeedsOwnForm, across, refusing
from goldsmith.weights.gold_inputs import GoldInputs

TORCH, JAX = framework("torch"), framework("jax")


def in_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    return across(TORCH.models.across, JAX, TORCH, function)


def in_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    return across(JAX.models.across, TORCH, JAX, function)


class TorchNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.fc2(torch.tanh(self.fc1(x)))


class NnxNet(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.fc1, self.fc2 = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.fc2(jnp.tanh(self.fc1(x)))


class EqxNet(eqx.Module):
    fc1: eqx.nn.Linear
    fc2: eqx.nn.Linear

    def __init__(self, *, key: Any) -> None:
        one, two = jax.random.split(key)
        self.fc1, self.fc2 = eqx.nn.Linear(3, 4, key=one), eqx.nn.Linear(4, 3, key=two)

    def __call__(self, x: Any) -> Any:
        return jax.vmap(self.fc2)(jnp.tanh(jax.vmap(self.fc1)(x)))


def loaded(model: Any, gold: Any, library: str) -> Any:
    """A model with gold's weights in it, as one of another library."""
    home = framework("torch" if isinstance(gold, torch.nn.Module) else "jax")
    weights = dict(home.models.state(gold))
    given = GoldInputs({}, {"model": weights}, facts={"model": home.models.weight_facts(gold)}, library=library)
    return given.load_weights("model", model, {}, lambda: model)


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_a_function_passes_back_what_torch_would(precision: torch.dtype) -> None:
    def nested(values: dict[str, Any], scale: float) -> Any:
        return {"y": jnp.sin(values["a"]) @ values["b"] * scale, "sizes": (values["n"] + 1, "text", None)}

    a, b = (torch.randn(shape, dtype=precision, requires_grad=True) for shape in ((3, 4), (4, 2)))
    found = in_torch(nested)({"a": a, "b": b, "n": torch.arange(3)}, scale=2.0)
    assert found["y"].dtype == precision
    assert found["sizes"][0].dtype == torch.int64
    assert found["sizes"][1:] == ("text", None)
    wanted = torch.sin(a) @ b * 2.0
    torch.testing.assert_close(found["y"], wanted)
    mine = torch.autograd.grad(found["y"].pow(2).sum(), [a, b])
    for one, two in zip(mine, torch.autograd.grad(wanted.pow(2).sum(), [a, b]), strict=True):
        torch.testing.assert_close(one, two)


def test_gradients_of_gradients_and_of_complex_numbers() -> None:
    a = torch.randn(3, dtype=torch.float64, requires_grad=True)
    z = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradgradcheck(in_torch(lambda x: jnp.exp(jnp.sin(x))), (a,))
    assert torch.autograd.gradcheck(in_torch(lambda x: x * x.conj() * jnp.exp(x)), (z,))


def test_what_has_no_gradient_has_none() -> None:
    a, b, c = (torch.ones(3, requires_grad=True) for _ in range(3))
    in_torch(lambda a, b, c: a * jax.lax.stop_gradient(b) + 0 * c)(a, b, c).sum().backward()
    assert a.grad is not None
    assert b.grad is None
    assert c.grad is not None


def test_a_recipe_that_asks_whether_something_learns_gets_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = ModuleType("__main__")
    exec("def case(f, x): return [y.requires_grad for y in f(x)]", recipe.__dict__)
    cut = in_torch(lambda x: (jax.lax.stop_gradient(x), 2 * x))
    assert recipe.case(cut, torch.ones(3, requires_grad=True)) == [False, True]


@pytest.mark.parametrize("make", [lambda: NnxNet(rngs=nnx.Rngs(0)), lambda: EqxNet(key=jax.random.key(0))])
def test_a_model_of_jax_is_a_module_with_golds_own_parameters(make: Callable[[], Any]) -> None:
    gold, x = TorchNet(), torch.randn(5, 3)
    crossed = loaded(make(), gold, "torch")
    model = crossed.model
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in gold.named_parameters()]
    assert type(model).__name__ == type(make()).__name__
    for net in (model, gold):
        optimiser = torch.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(2):
            optimiser.zero_grad()
            net(x).pow(2).mean().backward()
            optimiser.step()
    for name, value in gold.state_dict().items():
        torch.testing.assert_close(crossed.weights()[name], value)
        torch.testing.assert_close(crossed.gradients()[name], gold.get_parameter(name).grad)
    assert model.fc1.weight.shape == (4, 3)


def test_what_cannot_cross_is_told() -> None:
    model = loaded(NnxNet(rngs=nnx.Rngs(0)), TorchNet(), "torch").model
    model.word = "what a recipe notes on a model is its own"
    for use in (
        lambda: model.fc1(torch.ones(1, 3)),
        lambda: list(model.modules()),
        lambda: model.apply(print),
        lambda: model.fc1.register_forward_hook(print),
        lambda: in_torch(jnp.sin)(model),
        lambda: in_torch(jnp.sin)(torch.float32),
        lambda: in_torch(jnp.sin)(torch.tensor(2**40)),
    ):
        with pytest.raises(NeedsOwnForm):
            use()
    with pytest.raises(NeedsOwnForm, match=r"torch\.func"):
        torch.func.grad(lambda x: in_torch(jnp.sin)(x).sum())(torch.ones(3))
    with refusing("it changes its input x"), pytest.raises(NeedsOwnForm, match="changes its input x"):
        model(torch.ones(1, 3))


def test_a_copy_of_a_model_is_one_of_its_own() -> None:
    model = loaded(NnxNet(rngs=nnx.Rngs(0)), TorchNet(), "torch").model
    other, x = copy.deepcopy(model), torch.ones(2, 3)
    with torch.no_grad():
        other.fc2.bias.add_(1)
    torch.testing.assert_close(other(x), model(x) + 1)


def test_batch_norm_is_judged_in_eval_mode_alone() -> None:
    class Normed(nnx.Module):
        def __init__(self) -> None:
            self.fc = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
            self.norm = nnx.BatchNorm(3, epsilon=1e-5, rngs=nnx.Rngs(0))

        def __call__(self, x: Any) -> Any:
            return self.norm(self.fc(x))

    gold = torch.nn.Sequential()
    gold.fc = torch.nn.Linear(4, 3)
    gold.norm = torch.nn.BatchNorm1d(3)
    gold.norm.running_mean += 2
    model, x = loaded(Normed(), gold, "torch").model, torch.randn(5, 4)
    torch.testing.assert_close(model.eval()(x), gold.eval()(x))
    with pytest.raises(NeedsOwnForm, match="up to date"):
        model.train()(x)


def test_a_constructor_gets_a_key_where_it_asks_for_one() -> None:
    def make_linen(width: int, key: Any) -> Any:
        module = linen.Dense(width)
        return module, module.init(key, jnp.ones((1, 3)))

    def make_torch(width: int, key: Any) -> torch.nn.Module:
        return torch.nn.Linear(3, width)

    assert JAX.models.weights(in_torch(make_linen)(4))["kernel"].shape == (3, 4)
    assert in_jax(make_torch)(4, jax.random.key(0)).weight.shape == (4, 3)
    assert in_jax(lambda width: make_torch(width, None))(4, key=jax.random.key(0)).weight.shape == (4, 3)
    with pytest.raises(NeedsOwnForm, match="random key"):
        in_jax(lambda x, key: x)(jnp.ones(3), jax.random.key(0))


def test_a_function_of_torch_is_traced_by_jax() -> None:
    def nested(x: Any, n: Any) -> Any:
        return {"y": torch.tanh(x) * 2, "n": n + 1}

    function, x = in_jax(nested), jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
    wanted = 2 * jnp.tanh(x)
    for call in (function, jax.jit(function)):
        found = call(x, jnp.arange(3))
        assert jnp.allclose(found["y"], wanted)
        assert found["n"].tolist() == [1, 2, 3]
    assert jnp.allclose(jax.vmap(lambda row: function(row, jnp.arange(3))["y"])(x), wanted)
    for wrap in (lambda of: of, jax.jit):
        slope = wrap(jax.grad(lambda x: (function(x, jnp.arange(3))["y"] ** 2).sum()))(x)
        assert jnp.allclose(slope, jax.grad(lambda x: ((2 * jnp.tanh(x)) ** 2).sum())(x), atol=1e-6)


def test_a_torch_model_is_one_of_nnx_where_the_recipe_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(sys.modules["__main__"]), "nnx", nnx)
    gold, x = NnxNet(rngs=nnx.Rngs(0)), jnp.ones((5, 3))
    model = loaded(TorchNet(), gold, "jax").model
    mine, theirs = (nnx.value_and_grad(lambda net: (net(x) ** 2).mean())(net) for net in (model, gold))
    assert jnp.allclose(mine[0], theirs[0])
    one, two = nnx.to_pure_dict(mine[1]), nnx.to_pure_dict(theirs[1])
    assert jax.tree.structure(one) == jax.tree.structure(two)
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-6)), one, two)))
    for net in (model, gold):
        optimiser = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
        for _ in range(2):
            optimiser.update(net, nnx.grad(lambda net: (net(x) ** 2).mean())(net))
    assert jnp.allclose(model.fc1.kernel[...], gold.fc1.kernel[...], atol=1e-5)


def test_a_torch_model_is_a_tree_for_equinox() -> None:
    gold, x = EqxNet(key=jax.random.key(0)), jnp.ones((5, 3))
    model = loaded(TorchNet(), gold, "jax").model
    mine, theirs = (eqx.filter_grad(lambda net: (net(x) ** 2).mean())(net) for net in (model, gold))
    assert jnp.allclose(mine.fc1.weight, theirs.fc1.weight, atol=1e-6)
    moved = eqx.apply_updates(model, jax.tree.map(lambda item: -0.1 * item, mine))
    assert jnp.allclose(moved.fc2.bias, eqx.apply_updates(gold, jax.tree.map(lambda i: -0.1 * i, theirs)).fc2.bias)


def test_what_another_library_computes_inside_of_jit_is_watched_and_disturbed() -> None:
    function, x = in_jax(lambda x: torch.softmax(torch.sin(x), -1)), jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
    narrow = in_jax(lambda x: torch.sin(x).half().double())
    with framework("jax").arrays.wide():
        given = x.astype(jnp.float64)
    for call in (function, jax.jit(function), jax.jit(jax.grad(lambda x: function(x)[0, 0]))):
        with conditions(precision="float64", watched=True) as watch:
            found = call(given)
        assert watch.pure
        assert found.dtype == jnp.float64
        with conditions(noise=1):
            one = call(x)
        with conditions(noise=2):
            two = call(x)
        assert 0 < jnp.abs(one - two).max() < 1e-5
    with conditions(precision="float64", watched=True) as watch:
        jax.jit(narrow)(given)
    assert not watch.pure

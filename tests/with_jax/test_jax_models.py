"""Models of JAX behind the seam: their weights by name, calls that are seen, modules alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

from goldsmith.frameworks.framework import adopted, framework, models_of
from goldsmith.frameworks.jax import models
from goldsmith.runs.implementation import KERNEL, LINEAR, TABLE


class Nnx(nnx.Module):
    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.up, self.norm, self.down = (
            nnx.Linear(3, 4, rngs=rngs),
            nnx.BatchNorm(4, rngs=rngs),
            nnx.Linear(4, 2, rngs=rngs),
        )
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.down(self.drop(self.norm(self.up(x))))


class Equinox(eqx.Module):
    up: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    down: eqx.nn.Linear

    def __init__(self) -> None:
        keys = jax.random.split(jax.random.key(0))
        self.up, self.norm = eqx.nn.Linear(3, 4, key=keys[0]), eqx.nn.LayerNorm(4)
        self.down = eqx.nn.Linear(4, 2, key=keys[1])

    def __call__(self, x: Any) -> Any:
        return self.down(self.norm(self.up(x)))


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.BatchNorm(use_running_average=True, name="norm")(linen.Dense(4, name="up")(x))
        return linen.Dense(2, name="down")(x)


def function(parameters: Any, x: Any) -> Any:
    return jnp.tanh(x @ parameters["up"]["kernel"]) @ parameters["down"]["kernel"]


def of_nnx() -> Any:
    return Nnx()


def of_equinox() -> Any:
    return eqx.filter_vmap(Equinox())


def of_linen() -> Any:
    return adopted((Linen(), Linen().init(jax.random.key(0), jnp.ones((1, 3)))))


def of_function() -> Any:
    return adopted(({"up": {"kernel": jnp.ones((3, 4))}, "down": {"kernel": jnp.ones((4, 2))}}, function))


MAKES: dict[str, Callable[[], Any]] = {
    "nnx": of_nnx,
    "equinox": of_equinox,
    "linen": of_linen,
    "function": of_function,
}
X = jnp.asarray(np.random.default_rng(0).standard_normal((5, 3)), jnp.float32)


@pytest.fixture(params=list(MAKES))
def model(request: pytest.FixtureRequest) -> Any:
    made = MAKES[request.param]()
    return models.set_training(made, False)


def test_weights_have_the_names_of_their_places_in_the_order_of_the_model() -> None:
    names = {name: list(models.weights(make())) for name, make in MAKES.items()}
    assert [name.partition(".")[0] for name in names["nnx"]] == ["up", "up", *["norm"] * 4, "down", "down"]
    assert names["equinox"][0] == "up.weight"
    assert names["equinox"][-1] == "down.bias"
    assert "params" not in " ".join(names["linen"])
    assert {"norm.scale", "norm.mean", "up.kernel"} <= {*names["linen"]}
    assert names["function"] == ["up.kernel", "down.kernel"]


def test_kinds_say_on_which_axis_outputs_are() -> None:
    assert models.kinds(of_nnx())["up.kernel"] == models.kinds(of_linen())["up.kernel"] == KERNEL
    assert models.kinds(of_equinox())["up.weight"] == LINEAR
    assert models.kinds(eqx.nn.Embedding(3, 2, key=jax.random.key(0)))["weight"] == TABLE


def test_statistics_are_kept_and_not_learned() -> None:
    for make in (of_nnx, of_linen):
        assert {*models.weight_facts(make()).buffers} == {"norm.mean", "norm.var"}
        assert "norm.mean" in models.weights(make())
        assert "norm.mean" not in models.parameters(make())


def test_random_states_are_no_weights() -> None:
    assert not any("rngs" in name for name in models.weights(of_nnx()))


def test_one_variable_under_two_names_is_tied() -> None:
    class Tied(nnx.Module):
        def __init__(self) -> None:
            self.table = nnx.Param(jnp.ones((2, 2)))
            self.head = self.table

    assert models.weight_facts(Tied()).tied == (("table", "head"),)
    assert list(models.parameters(Tied())) == ["table"]


def test_a_function_of_weights_leaves_the_model_as_it_is(model: Any) -> None:
    before = model(X)
    weights = models.weights(model)
    call = models.functional(model)
    assert jnp.array_equal(call(weights, X), before)
    others = {name: item + 1 for name, item in weights.items()}
    assert not jnp.array_equal(call(others, X), before)
    assert jnp.array_equal(model(X), before)
    slopes = jax.grad(lambda given: call(given, X).sum())(weights)
    assert any(bool(item.any()) for item in slopes.values())


def test_weights_that_are_put_are_there(model: Any) -> None:
    wanted = {name: item * 2 + 1 for name, item in models.weights(model).items()}
    found = models.put(model, wanted)
    assert all(jnp.array_equal(item, wanted[name]) for name, item in models.weights(found).items())


def test_a_pair_is_a_model_and_other_tuples_are_themselves() -> None:
    assert models_of(of_linen()) is not None
    assert models_of(of_function()) is not None
    for other in ((1, 2), (X, X), (X, function), ("a", function), ({}, function), (function, function)):
        assert adopted(other) is other


def test_a_jitted_module_of_equinox_is_the_module() -> None:
    module = of_equinox()
    assert list(models.weights(adopted(eqx.filter_jit(module)))) == list(models.weights(module))


# --- calls


def calls_of(model: Any) -> dict[str, tuple[Any, Any]]:
    """Return what each module was given and returned, by name."""
    model(X)
    seen: dict[str, tuple[Any, Any]] = {}
    handles = [
        models.on_leave(item, lambda _, args, kwargs, out, name=name: seen.update({name: (args[0], out)}))
        for name, item in models.modules(model).items()
    ]
    model(X)
    for handle in handles:
        handle.remove()
    return seen


def test_calls_are_seen_with_all_items_of_a_batch(model: Any) -> None:
    seen = calls_of(model)
    assert seen[""][1].shape == (5, 2)
    if len(seen) > 1:
        assert seen["up"][0].shape == (5, 3)
        assert seen["up"][1].shape == seen["norm"][0].shape == (5, 4)


def test_batches_inside_of_batches_are_seen_from_the_outermost() -> None:
    model = eqx.filter_vmap(eqx.filter_vmap(Equinox()))
    given = jnp.arange(30.0).reshape(2, 5, 3)
    seen: list[Any] = []
    models.on_enter(models.modules(model)["up"], lambda _, args, kwargs: seen.append(args[0]))
    model(given)
    assert jnp.array_equal(seen[0], given)


def test_nobody_is_told_of_what_has_no_numbers(model: Any) -> None:
    seen: list[Any] = []
    models.on_enter(models.modules(model)[""], lambda *given: seen.append(given))
    with_weights = models.functional(model)
    jax.grad(lambda weights: with_weights(weights, X).sum())(models.weights(model))
    if not isinstance(model, nnx.Module):  # whose own call is outside of what is compiled
        jax.jit(lambda x: model(x))(X)
    assert not seen


def test_a_module_alone_is_called_as_it_was(model: Any) -> None:
    for name, (given, returned) in calls_of(model).items():
        assert jnp.allclose(models.alone(model, name)(given), returned, atol=1e-6), name


def test_a_model_that_runs_in_float64_is_a_copy(model: Any) -> None:
    before = {name: np.asarray(item) for name, item in models.weights(model).items()}
    working = models.WorkingModel(model, copied=False)
    with working.running("float64", train=True, written=True):
        assert {str(item.dtype) for item in models.parameters(working.module).values()} == {"float64"}
    working.close()
    assert {str(item.dtype) for item in models.parameters(working.module).values()} == {"float32"}
    assert all(np.array_equal(item, before[name]) for name, item in models.weights(model).items())


def test_what_is_not_used_is_known() -> None:
    class Idle(nnx.Module):
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.used, self.idle = nnx.Linear(3, 2, rngs=rngs), nnx.Linear(3, 2, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.used(x)

    model = Idle()
    use = models.WeightUse(model)
    model(X)
    assert use.names() == ("used.kernel", "used.bias")


def test_a_module_alone_passes_gradients_back_to_its_weights_and_inputs(model: Any) -> None:
    calls_of(model)
    numerics = framework("jax").numerics
    form = [[{"@tensor": 0}], {}]
    found = numerics.passed_back(models.alone(model, ""), form, [X], lambda: models.gradients(model))
    assert found["input.0"].shape == X.shape
    assert {name for name in found if name.startswith("weight.")} == {
        f"weight.{name}" for name in models.parameters(model)
    }

"""The noise of submodules and functions: measured without changing anything of what is measured."""

from __future__ import annotations

import contextlib
import copy
import pickle
from typing import Any

import pytest

from goldsmith.frameworks.framework import conditions
from goldsmith.instruments.call_noise import MAX_CALLS, CallOutputs, call_noise
from goldsmith.instruments.own_calls import OwnCode

torch = pytest.importorskip("torch")


def a_model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def outputs_of(model: Any, x: Any, calls: int = 1) -> CallOutputs:
    found = CallOutputs()
    found.attach("model", model)
    for _ in range(calls):
        model(x)
    found.detach()
    return found


def test_each_submodule_has_its_own_noise() -> None:
    model, x = a_model(), torch.randn(4, 7)
    calm = outputs_of(model, x)
    assert call_noise(calm, outputs_of(model, x)) == dict.fromkeys(("model", "model.0", "model.1", "model.2"), 0.0)
    with conditions(noise=1):
        noise = call_noise(calm, outputs_of(model, x))
    assert all(0 < value < 1e-5 for value in noise.values())


def test_hooks_are_neither_disturbed_nor_counted() -> None:
    """The number of operations decides how many trials there are, and so what is measured."""
    model, x = a_model(), torch.randn(4, 7)
    with conditions(noise=1) as without:
        plain = model(x)
    found = CallOutputs()
    found.attach("model", model)
    with conditions(noise=1) as hooked:
        again = model(x)
    assert hooked.operations == without.operations
    assert torch.equal(plain, again)
    assert (found.kept["model"][0][0] == again.detach().double().numpy()).all()


def test_what_returns_something_else_has_no_noise() -> None:
    model = a_model()
    calm = outputs_of(model, torch.randn(4, 7))
    assert call_noise(calm, outputs_of(model, torch.randn(2, 7))) == {}
    assert call_noise(calm, outputs_of(model, torch.randn(4, 7), calls=2)) == {}


def test_copies_of_a_model_keep_nothing_and_a_few_calls_are_enough() -> None:
    model = a_model()
    found = CallOutputs()
    found.attach("model", model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other(torch.randn(4, 7))
    assert found.kept == {}
    for _ in range(MAX_CALLS + 2):
        model(torch.randn(4, 7))
    assert len(found.kept["model"]) == MAX_CALLS


def wave(t: Any) -> Any:
    return torch.sin(1000 * t), t.tolist(), len(t)


def test_functions_have_their_own_noise_and_are_neither_disturbed_nor_counted() -> None:
    t = torch.rand(11)
    runs = []
    for seed in (None, 1):
        found = CallOutputs()
        own = OwnCode([__file__], frozenset({"wave"}))  # type: ignore[arg-type]
        noise = conditions(noise=seed) if seed else contextlib.nullcontext()
        with noise as counter, own.watch(found):
            wave(t)
        runs.append(found)
    assert counter.operations == 2
    assert list(runs[0].kept) == ["wave()"]
    assert len(runs[0].kept["wave()"][0]) == 1 + len(t), "a tensor and plain numbers"
    assert 1e-6 < call_noise(*runs)["wave()"] < 1e-3

"""What every framework with models must do, besides `conformance.py`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from frameworks.conformance import Sample
from goldsmith.frameworks import framework as seam
from goldsmith.frameworks.framework import Framework
from goldsmith.frameworks.randomness import random_state_kept
from goldsmith.gold.arrays import array_hash, dtype_name, is_array


@pytest.fixture
def model(library: Framework, sample: Sample) -> Any:
    if sample.model is None:
        assert not library.models.TYPES
        pytest.skip("it has no models")
    with random_state_kept(1):
        return sample.model()


def call(sample: Sample, model: Any) -> Any:
    assert sample.inputs is not None
    return model(sample.inputs())


def test_a_model_is_a_model_and_no_array(library: Framework, model: Any) -> None:
    assert seam.is_module(model)
    assert seam.models_of(model) is library.models
    assert seam.is_model_class(type(model))
    assert not is_array(model)


def test_weights_that_are_put_are_read(library: Framework, model: Any) -> None:
    wanted = {name: library.arrays.copy(item) for name, item in library.models.weights(model).items()}
    wanted = {name: library.numerics.disturb(item, np.random.default_rng(1)) for name, item in wanted.items()}
    found = library.models.weights(library.models.put(model, wanted))
    assert {name: array_hash(item) for name, item in found.items()} == {
        name: array_hash(item) for name, item in wanted.items()
    }


def test_weights_decide_what_a_model_returns(library: Framework, sample: Sample, model: Any) -> None:
    with random_state_kept(2):
        assert sample.model is not None
        other = sample.model()
    assert array_hash(call(sample, model)) != array_hash(call(sample, other))
    weights = {name: library.arrays.copy(item) for name, item in library.models.weights(model).items()}
    assert array_hash(call(sample, library.models.put(other, weights))) == array_hash(call(sample, model))


def test_hooks_see_each_call_until_they_are_removed(library: Framework, sample: Sample, model: Any) -> None:
    seen: list[tuple[str, str]] = []
    modules = library.models.modules(model)
    assert "" in modules
    assert len(modules) > 2
    handles = [
        library.models.on_enter(item, lambda *_, name=name: seen.append(("in", name))) for name, item in modules.items()
    ]
    handles += [
        library.models.on_leave(item, lambda *_, name=name: seen.append(("out", name)))
        for name, item in modules.items()
    ]
    call(sample, model)
    assert {("in", name) for name in modules} | {("out", name) for name in modules} == set(seen)
    assert seen[0] == ("in", "")
    assert seen[-1] == ("out", "")
    for handle in handles:
        handle.remove()
    del seen[:]
    call(sample, model)
    assert not seen


def test_copies_of_a_model_have_no_hooks(library: Framework, sample: Sample, model: Any) -> None:
    seen: list[Any] = []
    library.models.on_leave(model, lambda *given: seen.append(given))
    call(sample, copy.deepcopy(model))
    assert not seen


def test_gradients_reach_every_parameter(library: Framework, sample: Sample, model: Any) -> None:
    def total(returned: Any) -> Any:
        return library.numerics.backward_total(returned, {"output": returned}, ["output"], None, 1)

    assert sample.inputs is not None
    inputs = sample.inputs()
    backward = library.numerics.backward(model, [inputs], {}, total)
    assert backward.total is not None
    assert [tuple(item.shape) for item in backward.inputs] == [tuple(inputs.shape)]
    found = library.models.gradients(model)
    assert found.keys() == library.models.parameters(model).keys()
    assert all(item is not None for item in found.values())
    library.models.clear_gradients(model)
    assert all(item is None for item in library.models.gradients(model).values())


def test_all_parameters_are_seen_to_be_used(library: Framework, sample: Sample, model: Any) -> None:
    assert library.models.unused_parameters(model, call(sample, model)) == ()


def test_stress_is_the_same_for_the_same_seed(library: Framework, model: Any) -> None:
    def hashes(of: Any) -> dict[str, str]:
        return {name: array_hash(item) for name, item in library.models.parameters(of).items()}

    before, other = hashes(model), copy.deepcopy(model)
    model, other = (library.models.stress(item, 5) for item in (model, other))
    assert hashes(model) == hashes(other)
    assert all(content != before[name] for name, content in hashes(model).items())


def test_a_working_model_leaves_the_original_as_it_was(library: Framework, sample: Sample, model: Any) -> None:
    before = {name: array_hash(item) for name, item in library.models.weights(model).items()}
    working = library.models.WorkingModel(model, copied=True)
    with working.running("float64", train=False, written=True), seam.conditions(precision="float64"):
        assert {dtype_name(item) for item in library.models.parameters(working.module).values()} == {"float64"}
    working.close()
    assert {name: array_hash(item) for name, item in library.models.weights(model).items()} == before


def test_facts_of_weights_name_weights(library: Framework, model: Any) -> None:
    facts = library.models.weight_facts(model)
    assert {*facts.buffers, *(name for names in facts.tied for name in names)} <= library.models.weights(model).keys()
    assert library.models.kinds(model).keys() == library.models.parameters(model).keys()
    assert library.models.unbuilt(model) == ""

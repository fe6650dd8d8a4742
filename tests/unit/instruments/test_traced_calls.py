"""Functions and methods that students write are traced like modules: what went in, what came out, what they changed."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from goldsmith.gold.safetensors_reader import Mapped
from goldsmith.instruments.module_traces import LARGE, MAX_SAME, Tracer
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.judge.traces import Call, calls_in

CODE = """
    import torch
    from torch import nn


    def double(x, by=2):
        return x * by


    def fail(x):
        raise ValueError("no")


    def overwrite(x):
        x += 1
        return x.sum()


    def count(items):
        return {"count": len(items), "first": items[0]}


    class Scaler(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))

        def fit(self, x):
            self.mean.copy_(x.mean(0))

        def scale(self, x):
            return double(x - self.mean)


    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.scaler = Scaler()
            self.line = nn.Linear(2, 2)

        def forward(self, x):
            return self.line(self.scaler.scale(x))


    class Base:
        def act(self, x):
            return x


    class Derived(Base):
        pass


    class Held:
        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, value):
            self._value = value
"""
WRITTEN = frozenset(
    ("double", "fail", "overwrite", "count", "Scaler.fit", "Scaler.scale", "Layer.forward", "Derived.act", "Held.value")
)


@pytest.fixture
def ops(tmp_path: Path) -> Iterator[ModuleType]:
    (tmp_path / "traced_ops.py").write_text(textwrap.dedent(CODE))
    sys.path.insert(0, str(tmp_path))
    try:
        yield __import__("traced_ops")
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["traced_ops"]


class Traced:
    """A tracer at work, and what it has written down."""

    def __init__(self, folder: Path) -> None:
        self.tracer = Tracer(OwnCode(OwnFiles(str(folder), ""), WRITTEN))

    def attach(self, model: Any) -> Any:
        self.tracer.attach("model", model, model.state_dict)
        return model

    def __enter__(self) -> Traced:
        self._watching = self.tracer.watch()
        self._watching.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._watching.__exit__(None, None, None)

    @property
    def calls(self) -> list[Call]:
        arrays = {name: tensor.numpy() for name, tensor in self.tracer.tensors.items()}
        return calls_in(Mapped(arrays, {"goldsmith": json.dumps(self.tracer.index)}))


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    return Traced(tmp_path)


def test_a_function_is_traced_with_what_it_was_given_and_returned(ops: Any, traced: Traced) -> None:
    with traced:
        ops.double(torch.ones(3), by=5)
    (call,) = traced.calls
    assert (call.name, call.label, call.is_function) == ("double", "double", True)
    assert call.form == [[{"@tensor": 0}, 5], {}]
    assert call.outputs[0].tolist() == [5, 5, 5]


def test_a_property_is_set_that_has_no_value_before(ops: Any, traced: Traced) -> None:
    with traced:
        held = ops.Held()
        held.value = torch.ones(3)
    assert [call.label for call in traced.calls] == ["Held.value"]


def test_what_is_not_left_to_students_is_not_traced(ops: Any, traced: Traced) -> None:
    with traced:
        torch.ones(2).tolist()
        textwrap.dedent("  x")
    assert traced.calls == []


def test_a_methods_effect_is_what_it_changes(ops: Any, traced: Traced) -> None:
    model = traced.attach(ops.Layer())
    with traced:
        model.scaler.fit(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        model(torch.ones(1, 2))
    fit, whole, scale, double, line = traced.calls
    assert [call.label for call in (fit, whole, scale, double)] == ["scaler.fit", "Layer", "scaler.scale", "double"]
    assert fit.after["scaler.mean"].tolist() == [2, 3]
    assert fit.state == {}
    assert list(whole.state or ()) == ["scaler.mean"], "its answer depends on what was fitted before"
    assert list(scale.state or ()) == ["scaler.mean"]
    assert (double.state, line.own) == ({}, False)
    inside = [(whole, scale), (scale, double), (whole, line)]
    assert all(outer.encloses(inner) for outer, inner in inside)
    assert not scale.encloses(line)


def test_calls_that_raise_and_that_overwrite_say_so(ops: Any, traced: Traced) -> None:
    with traced:
        ops.overwrite(torch.ones(2))
        with pytest.raises(ValueError, match="no"):
            ops.fail(torch.ones(2))
        ops.double(torch.ones(2))
    overwrites, fails, fine = traced.calls
    assert (overwrites.overwrote, overwrites.raised) == (True, False)
    assert (fails.overwrote, fails.raised) == (False, True)
    assert (fine.overwrote, fine.raised) == (False, False)


def test_a_method_goes_by_the_class_of_its_object(ops: Any, traced: Traced) -> None:
    with traced:
        ops.Derived().act(torch.ones(1))
    (call,) = traced.calls
    assert (call.name, call.form) == ("Derived.act", None), "nobody could build that object again"


def test_plain_values_are_kept_as_they_are(ops: Any, traced: Traced) -> None:
    with traced:
        ops.count(["a", "b"])
    (call,) = traced.calls
    assert (call.form, call.returned) == ([[["a", "b"]], {}], [{"count": 2, "first": "a"}])


def test_what_is_large_is_known_by_its_hash_and_few_calls_are_kept(ops: Any, traced: Traced) -> None:
    with traced:
        ops.double(torch.ones(LARGE))
        for _ in range(MAX_SAME + 3):
            ops.double(torch.ones(1))
    assert len(traced.calls) == MAX_SAME
    assert not traced.tracer.tensors.keys() & {"0000.input.0"}
    assert traced.calls[0].form is None, "without its inputs it cannot be made again"


def test_records_know_which_call_made_them(ops: Any, traced: Traced) -> None:
    with traced:
        one = ops.double(torch.ones(2))
        ops.overwrite(torch.ones(2))
        traced.tracer.origin("one", one)
        traced.tracer.origin("other", torch.zeros(3))
    assert traced.tracer.origins == {"one": ("double",), "other": ("double", "overwrite")}


def test_calls_inside_transformations_of_functions_are_seen_but_cannot_be_repeated(ops: Any, traced: Traced) -> None:
    model, x = ops.Layer(), torch.ones(3, 2)
    expected = model(x)
    traced.attach(model)
    several = {name: torch.stack([value, value + 1]) for name, value in model.state_dict().items()}

    def with_weights(weights: Any) -> Any:
        return torch.func.functional_call(model, weights, (x,))

    with traced:
        one = torch.func.vmap(model)(x)
        many = torch.func.vmap(with_weights)(several)
        slope = torch.func.jacrev(ops.double)(x[0])
    assert torch.equal(one, expected)
    assert torch.equal(many[0], expected)
    assert slope.tolist() == [[2, 0], [0, 2]]
    labels = ["Layer", "scaler.scale", "double"]
    assert [call.label for call in traced.calls if call.own] == [*labels, *labels, "double"]
    assert not any(call.can_be_repeated for call in traced.calls)
    assert traced.calls[0].outputs[0].tolist() == expected.tolist(), "all items of the batch"


def test_a_call_in_which_not_all_was_traced_is_partial(ops: Any, traced: Traced) -> None:
    model = traced.attach(ops.Scaler())
    with traced:
        for _ in range(MAX_SAME):
            ops.double(torch.ones(1))
        model.scale(torch.ones(1, 2))
    assert traced.calls[-1].partial
    assert not traced.calls[0].partial


def test_what_calls_pass_back_is_kept(ops: Any, traced: Traced) -> None:
    model = traced.attach(ops.Layer())
    with traced:
        model(torch.ones(1, 2))
    traced.tracer.detach()
    traced.tracer.keep_gradients({"model": model}, {"model": model.state_dict()})
    whole = traced.calls[0]
    assert {"input.0", "weight.line.weight", "weight.line.bias"} <= set(whole.gradients)
    assert whole.learns == (True,)

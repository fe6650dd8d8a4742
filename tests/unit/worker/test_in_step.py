"""Two models run in step: distances of paired modules, without a trace of either."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from goldsmith.runs.live.in_step import INPUTS, OUTPUTS, InStep, Moment, run_in_step

torch = pytest.importorskip("torch")
nn = torch.nn


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """Two projections whose order of calls can be chosen, and a residual that is added in place."""

    def __init__(self, factor: float = 1.0, reverse: bool = False, glue: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.out = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.factor, self.reverse, self.glue = factor, reverse, glue

    def forward(self, x: Any) -> Any:
        y = x.clone()
        if self.reverse:
            right, left = self.b(y), self.a(y)
        else:
            left, right = self.a(y), self.b(y)
        y += self.out(left * right + self.glue) * self.factor
        return y


def in_step(candidate: Any, *, forced: bool = False) -> InStep:
    reference = nn.Sequential(Block(), Block())
    x = torch.randn(3, 6)
    names = {name: name for name, _ in reference.named_modules() if name}
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    with torch.no_grad():
        return run_in_step(lambda: reference(x), lambda: candidate(x), modules, names, forced=forced)


def wrong(found: InStep) -> list[str]:
    return [f"{item.moment.module} {item.moment.what}" for item in found.distances if item.relative > 1e-5]


def test_equal_models_are_at_no_distance_in_every_module() -> None:
    found = in_step(nn.Sequential(Block(), Block()))
    assert len(found.distances) == 16
    assert {item.relative for item in found.distances} == {0.0}
    assert not found.missed
    assert torch.equal(*found.outputs)


def test_a_model_runs_in_step_with_itself_up_to_what_is_wanted() -> None:
    model = nn.Sequential(Block(), Block())
    modules = dict(model.named_modules())
    names = {name: name for name in modules if name}
    x, calls = torch.randn(3, 6), []
    model[1].out.register_forward_hook(lambda *_: calls.append(threading.current_thread().name))
    wanted = {Moment("0.out", 0, OUTPUTS), Moment("1.a", 0, INPUTS)}
    with torch.no_grad():
        found = run_in_step(lambda: model(x), lambda: model(2 * x), (modules, modules), names, wanted=wanted)
    assert found.distances[0].moment == Moment("0", 0, INPUTS)
    assert found.distances[0].relative == pytest.approx(1)
    assert found.distances[-1].moment == Moment("1.a", 0, INPUTS)
    assert calls == []
    assert not [item for item in threading.enumerate() if item.name == "reference"]


def test_calls_in_another_order_are_still_compared() -> None:
    found = in_step(nn.Sequential(Block(reverse=True), Block(reverse=True)))
    assert len(found.distances) == 16
    assert wrong(found) == []


def test_an_error_reaches_later_modules_unless_outputs_are_forced() -> None:
    candidate = nn.Sequential(Block(factor=2.0), Block())
    assert wrong(in_step(candidate))[:2] == ["0 outputs", "1 inputs"]
    assert wrong(in_step(candidate, forced=True)) == ["0 outputs"]


def test_an_error_between_modules_shows_in_the_inputs_of_the_next() -> None:
    assert wrong(in_step(nn.Sequential(Block(), Block(glue=1.0)), forced=True)) == ["1.out inputs", "1.out outputs"]


class Chain(nn.Module):  # type: ignore[misc, name-defined]
    """One module's output is the next one's input, unless it is written into on the way."""

    def __init__(self, glue: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.glue = nn.Linear(6, 6), nn.Linear(6, 6), glue

    def forward(self, x: Any) -> Any:
        y = self.a(x)
        if self.glue:
            y += self.glue
        return self.b(y)


@pytest.mark.parametrize(("glue", "seen"), [(0.0, []), (0.1, ["b inputs"])])
def test_what_was_forced_is_compared_again_only_if_it_was_written_into(glue: float, seen: list[str]) -> None:
    reference, candidate = Chain(), Chain(glue)
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    x = torch.randn(3, 6)
    with torch.no_grad():
        found = run_in_step(lambda: reference(x), lambda: candidate(x), modules, {"a": "a", "b": "b"}, forced=True)
    assert [f"{item.moment.module} {item.moment.what}" for item in found.distances] == [
        "a inputs",
        "a outputs",
        *seen,
        "b outputs",
    ]
    assert wrong(found)[: len(seen)] == seen


def test_a_module_that_is_never_called_is_missed_and_nothing_hangs() -> None:
    class Short(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x: Any) -> Any:
            return self.second(x)

    reference, candidate = Short(), Short()
    candidate.forward = lambda x: candidate.second(candidate.first(x))
    x = torch.randn(3, 6)
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    with torch.no_grad():
        found = run_in_step(lambda: reference(x), lambda: candidate(x), modules, {"first": "first", "second": "second"})
    assert found.missed[0] == Moment("first", 0, INPUTS)
    assert Moment("second", 0, OUTPUTS) in [item.moment for item in found.distances]


@pytest.mark.parametrize("side", ["reference", "candidate"])
def test_an_error_of_either_side_is_raised_and_its_thread_ends(side: str) -> None:
    reference, candidate = Block(), Block()
    broken = reference if side == "reference" else candidate
    broken.out.forward = lambda x: 1 / 0
    x = torch.randn(3, 6)
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    with pytest.raises(ZeroDivisionError):
        run_in_step(lambda: reference(x), lambda: candidate(x), modules, {"a": "a", "b": "b", "out": "out"})
    assert "reference" not in [thread.name for thread in threading.enumerate()]
    assert not reference.a._forward_hooks
    assert not candidate.a._forward_hooks


def test_other_shapes_and_numbers_that_are_not_finite_are_infinitely_far() -> None:
    reference, candidate = nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 5))
    x = torch.ones(2, 4)
    modules = dict(reference.named_modules()), dict(candidate.named_modules())
    with torch.no_grad():
        found = run_in_step(lambda: reference(x), lambda: candidate(x), modules, {"0": "0"})
    assert found.distances[-1].problem == "has shape [2, 5] where the reference has [2, 4]"
    with torch.no_grad():
        reference[0].bias[1] = torch.nan
        found = run_in_step(lambda: reference(x), lambda: nn.Linear(4, 4)(x), (modules[0], {}), {})
        assert found.distances == []
        other = nn.Sequential(nn.Linear(4, 4))
        found = run_in_step(
            lambda: reference(x), lambda: other(x), (modules[0], dict(other.named_modules())), {"0": "0"}
        )
    assert found.distances[-1].relative == float("inf")

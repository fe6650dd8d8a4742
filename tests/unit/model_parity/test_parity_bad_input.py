"""What keeps two models from being compared is told in a sentence, with what to do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import goldsmith
from goldsmith.adapter import no_counterpart, rename

pytestmark = pytest.mark.torch


class Layer(nn.Module):
    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.inner = nn.Linear(4, width)
        self.outer = nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        return self.outer(torch.tanh(self.inner(x)))


def x() -> Any:
    return torch.randn(2, 4)


def reason(found: goldsmith.Parity) -> str:
    assert found.outcome == "could-not-run"
    assert not found
    assert found.report.exit_code == 3
    assert found.report.reason in str(found).replace("\n", " ")
    return found.report.reason


def test_models_that_cannot_be_paired_name_both_lists_and_the_sizes() -> None:
    found = goldsmith.parity(Layer(5), Layer(7), x)
    assert "inner.weight (5×4)" in reason(found)
    assert "left over in the candidate: inner.weight (7×4)" in reason(found)
    assert found.report.kind == "weights"
    assert found.report.weights.free["outer.weight"] == (3, 7)
    assert "inner.weight is of two sizes, 5×4 and 7×4: build both with the same sizes" in reason(found)
    assert "no_counterpart" not in str(found)


def test_a_candidate_with_fewer_weights_is_told_so_and_an_adapter_settles_it() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(4, 5)
            self.b = nn.Linear(5, 3, bias=False)

        def forward(self, x: Any) -> Any:
            return self.b(torch.tanh(self.a(x)))

    found = goldsmith.parity(Layer(), Bare(), x)
    assert found.outcome == "differs"
    assert found.first_divergence == "outer"
    assert "the candidate has no place for the reference's outer.bias (3)" in found.report.notes
    assert 'no_counterpart(gold="outer.bias", reason="the candidate has none")' in found.report.adapter_lines
    empty = Layer()
    nn.init.zeros_(empty.outer.bias)
    same = goldsmith.parity(empty, Bare(), x)
    assert "what was compared agrees, but the candidate has no place for the reference's outer.bias (3)" in reason(same)

    def rules() -> None:
        rename("inner.*", "a.*")
        rename("outer.weight", "b.weight")
        no_counterpart(gold="outer.bias", reason="it has none")

    differs = goldsmith.parity(Layer(), Bare(), x, adapter=rules)
    assert differs.outcome == "differs"
    assert differs.first_divergence == "outer"


def test_a_candidate_with_more_weights_is_told_which() -> None:
    class More(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.Linear(2, 9)

    found = goldsmith.parity(Layer(), More(), x)
    assert found, str(found)
    assert any("unused.weight" in note for note in found.report.notes)
    assert set(found.report.weights.free) == {"unused.weight", "unused.bias"}


@pytest.mark.parametrize("side", ["reference", "candidate"])
def test_inputs_that_one_side_refuses_are_told_with_its_own_line(side: str) -> None:
    class Strict(Layer):
        def forward(self, x: Any) -> Any:
            raise ValueError("three axes are needed")

    models = [Layer(), Strict()] if side == "candidate" else [Strict(), Layer()]
    found = goldsmith.parity(*models, x)
    assert f"the {side} cannot be run on the inputs: ValueError: three axes are needed" in reason(found)
    assert "test_parity_bad_input.py" in str(found)


def test_a_dict_where_the_other_returns_a_tuple_says_how_to_say_which_is_which() -> None:
    class Pair(Layer):
        def forward(self, x: Any) -> Any:
            hidden = self.inner(x)
            return self.outer(torch.tanh(hidden)), hidden

    class Named(Pair):
        def forward(self, x: Any) -> Any:
            out, hidden = super().forward(x)
            return {"hidden": hidden, "logits": out}

    found = goldsmith.parity(Pair(), Named(), x)
    assert "outputs={'0': 'logits', '1': 'hidden'}" in reason(found)
    assert goldsmith.parity(Pair(), Named(), x, outputs={"0": "logits", "1": "hidden"})
    wrong = goldsmith.parity(Pair(), Named(), x, outputs={"0": "scores"})
    assert "names 'scores', which the candidate does not return" in reason(wrong)


def test_nan_on_one_side_is_a_difference_and_nan_everywhere_proves_nothing() -> None:
    class Broken(Layer):
        def forward(self, x: Any) -> Any:
            found = super().forward(x)
            return torch.where(found > found.mean(), found, found * float("nan"))

    found = goldsmith.parity(Layer(), Broken(), x)
    assert found.outcome == "differs"
    assert "NaN" in str(found)

    class Nothing(Layer):
        def forward(self, x: Any) -> Any:
            return super().forward(x) * float("nan")

    assert "nothing but NaN" in reason(goldsmith.parity(Nothing(), Nothing(), x))


def test_a_side_that_changes_its_input_in_place_differs() -> None:
    class Rude(Layer):
        def forward(self, x: Any) -> Any:
            found = super().forward(x)
            x.zero_()
            return found

    found = goldsmith.parity(Layer(), Rude(), x, gradients=False)
    assert found.outcome == "differs"
    assert "changes its input 0 in place" in str(found)


def test_random_layers_in_train_mode_say_what_to_do() -> None:
    class Dropping(Layer):
        def __init__(self, times: int) -> None:
            super().__init__()
            self.drop, self.times = nn.Dropout(0.5), times

        def forward(self, x: Any) -> Any:
            for _ in range(self.times):
                x = self.drop(x)
            return super().forward(x)

    found = goldsmith.parity(Dropping(1), Dropping(2), x, train=True)
    assert "drop (Dropout) of the reference draws random numbers" in reason(found)
    assert "set its probability to 0, or compare in eval mode" in reason(found)
    assert goldsmith.parity(Dropping(1), Dropping(2), x), "in eval mode"


def test_a_reference_that_gives_another_answer_each_time_is_told() -> None:
    class Counting(Layer):
        calls = 0

        def forward(self, x: Any) -> Any:
            Counting.calls += 1
            return super().forward(x) + Counting.calls

    assert "another answer" in reason(goldsmith.parity(Counting(), Layer(), x))


def test_memory_that_runs_out_is_told_as_such() -> None:
    class Huge(Layer):
        def forward(self, x: Any) -> Any:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    found = goldsmith.parity(Layer(), Huge(), x)
    assert "the candidate runs out of memory" in reason(found)
    assert found.report.kind == "memory"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputs": None}, "there are no inputs"),
        ({"inputs": []}, "the list of inputs is empty"),
        ({"rtol": -1.0}, "rtol is -1.0"),
        ({"dtype": "int8"}, "dtype is int8"),
        ({"adapter": "no/such/file.py"}, "No such file"),
        ({"adapter": 3}, "it is int"),
        ({"candidate": Layer}, "the class Layer"),
        ({"candidate": 3}, "is int, which cannot be called"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(given: dict[str, Any], said: str) -> None:
    options = {"reference": Layer(), "candidate": Layer(), "inputs": x} | given
    with pytest.raises(goldsmith.GoldsmithError, match=said) as caught:
        goldsmith.parity(**options)
    assert caught.value.exit_code == 2


def test_a_tolerance_that_is_given_is_enough_whatever_modules_do() -> None:
    class Almost(Layer):
        def forward(self, x: Any) -> Any:
            return super().forward(x * 1.0001)

    assert goldsmith.parity(Layer(), Almost(), x).outcome == "differs"
    found = goldsmith.parity(Layer(), Almost(), x, rtol=0.5, atol=0.5)
    assert found.outcome == "agrees"
    assert any("within the tolerance given" in note for note in found.report.notes)


def test_numbers_of_numpy_are_compared_and_random_functions_are_told() -> None:
    import numpy as np

    given = np.arange(4.0)
    assert goldsmith.parity(np.mean, np.average, (given,))
    assert goldsmith.parity(np.mean, np.sum, (given,)).outcome == "differs"

    def draw(given: Any) -> Any:
        return given + np.random.rand(4)

    assert "draw() of the reference draws random numbers" in reason(goldsmith.parity(draw, np.sort, (given,)))
    found = goldsmith.parity(np.sort, draw, (given,))
    assert (found.outcome, found.report.kind) == ("differs", "random")
    assert "draw() draws random numbers in eval mode, and the reference draws none" in found.report.reason

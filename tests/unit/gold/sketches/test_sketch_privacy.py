"""What sketches give away: an attacker who solves for a tensor fails by a margin where the rule lets it through, and
succeeds on what the rule leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.gold.sketches.privacy import FEWEST, MARGIN, sums_allowed
from goldsmith.gold.sketches.sketch import SUMS, Sketch
from support.sketch_attacks import best_attack, cosine_basis, equations, least_squares

SOURCE = np.random.default_rng(11)
FIXTURES = Path(__file__).parents[4] / "examples" / "vla-course" / "tests" / "internal" / "fixtures"


def normal(*shape: int) -> Any:
    return SOURCE.standard_normal(shape)


def smooth(*shape: int) -> Any:
    return np.cumsum(np.cumsum(normal(*shape), axis=0), axis=1)


def waves(rows: int, columns: int) -> Any:
    """A field of four low frequencies."""
    return cosine_basis(rows)[:, 1:3] @ normal(2, 2) @ cosine_basis(columns)[:, 1:3].T


def softmax(scores: Any) -> Any:
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)


def positions(count: int, width: int) -> Any:
    angles = np.outer(np.arange(count), 10000.0 ** (-np.arange(0, width, 2) / width))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


LEFT_OUT = {
    "a loss": (np.array(2.31), "only 1 number"),
    "a bias": (normal(24), "only 24 numbers"),
    "a causal mask": (np.tril(np.ones((6, 6)) * 0.5 + 0.25), "numbers"),
    "token ids": (SOURCE.integers(0, 61, (5, 40)), "not hold floating-point"),
    "whole numbers": (SOURCE.integers(0, 2, (3, 12)).astype(np.float32), "numbers"),
    "a mask of floats": (SOURCE.integers(0, 2, (9, 40)).astype(np.float32), "whole"),
    "a one-hot code": (np.eye(61)[SOURCE.integers(0, 61, 30)] * 0.3, "different numbers"),
    "a mask of minus infinity": (np.triu(np.full((20, 20), -np.inf), 1) + 0.5, "finite"),
    "a constant": (np.full((20, 30), 0.3), "constant"),
    "one row again and again": (np.tile(normal(1, 15), (40, 1)), ""),
    "rows that hardly differ": (np.tile(normal(1, 15), (40, 1)) + 1e-3 * normal(40, 15), ""),
    "a smooth field": (waves(20, 30), "smooth"),
    "few large numbers": (normal(20, 30) * (SOURCE.random((20, 30)) < 0.01), ""),
    "few larger numbers": (normal(20, 30) * (1 + 100 * (SOURCE.random((20, 30)) < 0.005)), "large"),
    "a product of two vectors": (np.outer(normal(9), normal(11)), ""),
    "positions": (positions(40, 16), ""),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_would_give_itself_away_is_left_out(name: str) -> None:
    tensor, why = LEFT_OUT[name]
    allowed, reason = sums_allowed(tensor)
    assert allowed == 0
    assert why in reason


SOLVED = ["a bias", "whole numbers", "one row again and again", "a smooth field", "few large numbers"]


@pytest.mark.parametrize("name", SOLVED)
def test_the_attacker_finds_what_the_rule_leaves_out(name: str) -> None:
    """With a rule that let these through, an attack would succeed: the attacks are real."""
    tensor = np.asarray(LEFT_OUT[name][0], dtype=np.float64)
    assert best_attack(Sketch.of(tensor), tensor) < 0.3


KEPT = {
    "the smallest": lambda: normal(5, 4, 6),
    "an output": lambda: normal(2, 7, 24),
    "logits": lambda: normal(3, 11, 61),
    "with a mean": lambda: normal(4, 5, 24) * 0.1 + 5,
    "half of it zero": lambda: np.maximum(normal(5, 7, 20), 0),
    "softmax": lambda: softmax(normal(12, 30) * 0.5),
    "heavy tails": lambda: SOURCE.standard_t(4, (6, 9, 12)),
    "somewhat smooth": lambda: smooth(20, 40) * 0.02 + normal(20, 40),
    "of somewhat low rank": lambda: normal(30, 12) @ normal(12, 25),
    "a trained weight": lambda: normal(40, 24) * 0.2 + np.outer(normal(40), normal(24)) * 0.05,
}


@pytest.mark.parametrize("name", KEPT)
def test_no_attack_gets_within_the_margin(name: str) -> None:
    tensor = np.asarray(KEPT[name](), dtype=np.float64)
    allowed, reason = sums_allowed(tensor)
    assert allowed >= FEWEST, reason
    assert best_attack(Sketch.of(tensor, count=allowed), tensor) > MARGIN


@pytest.mark.parametrize("name", KEPT)
def test_a_student_who_is_nearly_right_does_not_get_there_by_solving(name: str) -> None:
    """An error without structure stays; one with a single unknown, such as a factor, is found by checking, which is
    what a check is for."""
    tensor = np.asarray(KEPT[name](), dtype=np.float64)
    sketch = Sketch.of(tensor, count=sums_allowed(tensor)[0])
    wrong = tensor + 0.03 * tensor.std() * SOURCE.standard_normal(tensor.shape)
    assert np.linalg.norm(least_squares(sketch, wrong) - tensor) > MARGIN * np.linalg.norm(wrong - tensor)


def test_no_attack_gets_within_the_margin_on_real_gold() -> None:
    """Every seventh tensor of three cases' traces that the rule lets through."""
    tried = 0
    for file in ("scratch-1/block", "scratch-2/encoder", "scratch-3/field"):
        tensors = list(open_mapped(FIXTURES / f"{file}.trace.safetensors").values())
        for tensor in tensors[::7]:
            numbers = np.asarray(tensor, dtype=np.float64)
            allowed, _ = sums_allowed(numbers)
            if allowed and numbers.size <= 1000:
                tried += 1
                assert best_attack(Sketch.of(numbers, count=allowed), numbers) > MARGIN
    assert tried >= 3


def test_three_tensors_that_follow_from_one_another_stay_secret_together() -> None:
    """A kit has what goes into a linear layer and what comes out of it; its weights are public."""
    left = [_left_of_three_views(np.random.default_rng(seed)) for seed in range(20)]
    assert np.mean(left) > MARGIN
    assert min(left) > MARGIN - 0.05, "by chance"


def _left_of_three_views(source: np.random.Generator) -> float:
    """The share of a tensor that stays unknown to someone who has its sketch and those of two linear maps of it."""
    tensor = source.standard_normal((2, 11, 24))
    allowed = sums_allowed(tensor)[0]
    matrix, right = [], []
    for view in (np.eye(24), *(source.standard_normal((2, 24, 24)) / 5)):
        made = Sketch.of(tensor @ view, count=allowed)
        rows, sums = equations(made)
        matrix.append((rows.reshape(allowed, 2, 11, 24) @ view.T).reshape(allowed, -1))
        right.append(sums)
    found = np.linalg.lstsq(np.concatenate(matrix), np.concatenate(right), rcond=None)[0]
    return float(np.linalg.norm(found - tensor.reshape(-1)) / np.linalg.norm(tensor))


def test_a_tensor_of_a_few_hundred_numbers_has_all_its_sums() -> None:
    assert sums_allowed(normal(5, 13, 61))[0] == SUMS

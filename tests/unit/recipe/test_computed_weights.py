"""Arrays that come out the same from every seed are computed, unless they may be drawn from a seed of their own."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from goldsmith.gold.facts import WeightFacts
from goldsmith.recipe.computed_weights import computed_weights
from goldsmith.weights.models import weights_of

CODE = """
import numpy as np
from fixed_numbers import numbers


class Layer:
    def __init__(self):
        self.weight = {}
        self.bias = np.zeros(3)
"""
NUMBERS = """
import numpy as np


def numbers(size, rng=None, random_state=0):
    return np.random.RandomState(random_state).normal(size=size)
"""


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("np.linspace(0.1, 0.7, 3)", ("weight",)),
        ("np.ones(3)", ()),
        ("np.random.randn(3)", ()),
        ("np.random.default_rng(0).normal(size=3)", ()),
        ("np.random.RandomState(0).normal(size=3)", ()),
        ("numbers(3, random_state=0)", ()),
        ("numbers(3, rng=None)", ()),
    ],
)
def test_what_is_drawn_is_not_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weight: str, expected: tuple[str, ...]
) -> None:
    (tmp_path / "fixed_numbers.py").write_text(NUMBERS)
    (tmp_path / "computed_layer.py").write_text(CODE.format(weight))
    monkeypatch.syspath_prepend(str(tmp_path))
    layer = importlib.import_module("computed_layer").Layer
    try:
        made = layer()
        kept = weights_of(made, "model")
        found = computed_weights(made, kept, WeightFacts(), lambda: weights_of(layer(), "model"), seed=1)
    finally:
        del sys.modules["computed_layer"], sys.modules["fixed_numbers"]
    assert found == expected

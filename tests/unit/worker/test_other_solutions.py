"""Which rewritten solutions a drafted case is tried on: those that differ in what it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldsmith.drafts.other_solutions import ENOUGH, OtherSolutions

SOURCE = """
import numpy as np


def attend(q, k, v, scale=2.0):
    scores = q @ k.T / np.sqrt(q.shape[-1]) * scale
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / total @ v + q.mean() - 1.0


def reverse(x):
    return x[::-1]


def keep(x):
    return x
"""


@pytest.fixture
def others(tmp_path: Path) -> OtherSolutions:
    file = tmp_path / "ops.py"
    file.write_text(SOURCE)
    return OtherSolutions(tmp_path, {"ops": file}, ["attend", "reverse", "keep"])


def written(others: OtherSolutions, number: int, name: str) -> str:
    (code,) = others._codes[number].values()
    (part,) = [item for item in code.co_consts if getattr(item, "co_name", "") == name]
    return f"{part.co_code!r} {part.co_names} {part.co_varnames} {part.co_consts}"


def test_a_case_is_tried_on_twenty_that_differ_in_what_it_runs(others: OtherSolutions) -> None:
    chosen = others.differing_in(["attend"])
    assert len(chosen) == ENOUGH == 20
    assert len({written(others, number, "attend") for number in chosen}) > 15  # some differ in names alone


def test_there_are_fewer_of_what_can_be_written_in_few_ways(others: OtherSolutions) -> None:
    assert 0 < len(others.differing_in(["reverse"])) < 10
    assert len(others.differing_in(["reverse", "attend"])) == ENOUGH


def test_a_helper_that_nobody_watches_may_run_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(SOURCE)
    others = OtherSolutions(tmp_path, {"ops": tmp_path / "ops.py"}, ["reverse", "keep"])
    assert len(others.differing_in(["reverse"])) == ENOUGH

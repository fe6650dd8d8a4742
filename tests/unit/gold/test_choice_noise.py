"""Where noise decides what is chosen: neither masks nor twins nor heavy ties hide it or make it up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.gold.calibration import Trials, calibrate
from goldsmith.gold.choice_ruling import decided_by_noise
from goldsmith.gold.choices import EQUAL_PREFIX, WIDTHS_PREFIX, Choice
from goldsmith.gold.facts import CaseFacts, FileFacts, LeafFacts

SEEDS = st.integers(0, 2**32)


def share_of_best(scores: Any, width: Any) -> float:
    """How many of the positions have a best score that noise decides on."""
    found = decided_by_noise(scores[:, None], np.broadcast_to(width, scores.shape)[:, None])[:, 0]
    return float(np.take_along_axis(found, scores.argmax(-1)[:, None], -1).mean())


@given(SEEDS, st.sampled_from([-1e-2, -1.0, -100.0, -9e5, -np.inf]), st.integers(5, 20))
def test_a_mask_does_not_make_ties_of_noise(seed: int, mask: float, size: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(40, size)) * 5e-4
    scores[:, 0] = mask
    assert share_of_best(scores, 3e-3) == 1.0
    widths = np.where(scores == mask, np.where(np.isfinite(mask), abs(mask) * 1e-6, 0.0), 3e-3)
    assert mask == -1e-2 or not decided_by_noise(scores[:, None], widths[:, None])[..., 0].any(), "it is wrong"


@given(SEEDS)
def test_many_masks_that_are_not_equal_do_not_either(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(40, 40)) * 5e-4
    scores[:, :35] = -1e4 + rng.normal(size=(40, 35))
    assert share_of_best(scores, 3e-3) == 1.0


def test_few_candidates_and_quantised_noise() -> None:
    noise = np.random.default_rng(0).normal(size=(40, 6)) * 5e-4
    scores = np.round(noise / 2**-10) * 2**-10
    scores[:, 0] = -9e5
    assert share_of_best(scores, 3e-3) > 0.5
    assert share_of_best(np.where(np.arange(3) == 0, -9e5, noise[:, :3]), 3e-3) == 1.0


@given(SEEDS, st.sampled_from([2, 3, 4, 6, 8, 64, 1000]))
def test_scores_in_bfloat16_have_ties_and_are_not_chance(seed: int, size: int) -> None:
    assert not share_of_best(np.random.default_rng(seed).normal(size=(100, size)), 0.06)


@given(SEEDS, st.sampled_from([4, 5, 8, 17]))
def test_twins_say_nothing_about_the_others(seed: int, size: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(100, size))
    scores[:, 0], scores[:, 1] = 5.0, 5.0 - 1e-6
    assert not share_of_best(scores, 3e-6)


@given(SEEDS)
def test_heavy_ties_and_two_clusters_are_not_chance(seed: int) -> None:
    normal = np.random.default_rng(seed).normal(size=(40, 16))
    assert not share_of_best(np.maximum(normal, 0), 1e-6)
    assert not share_of_best(np.minimum(normal, 0), 1e-6)
    assert not share_of_best(np.where(normal > 0, 10.0, -10.0) + normal, 1e-3)
    assert not share_of_best(np.round(normal), 1e-6)


def test_rows_of_noise_among_others_are_chance() -> None:
    scores = np.random.default_rng(0).normal(size=(40, 20))
    scores[:8] *= 1e-7
    assert share_of_best(scores, 1e-6) == 0.2


@pytest.mark.parametrize("scores", [np.full((4, 9), -np.inf), np.zeros((4, 1)), np.ones((4, 5))])
def test_where_nothing_can_be_told_apart_noise_decides_nothing(scores: Any) -> None:
    assert not share_of_best(scores, 0.0)


# --- what is measured of a choice


def measured(scores: Any, dtype: str, trials: Trials, choice: Choice) -> Any:
    leaves = (LeafFacts("output.t", "int64", scores.shape[:-1]), LeafFacts("output.s", dtype, scores.shape))
    case = CaseFacts(name="case", kind="output", file=FileFacts("f", leaves=leaves), choices=(choice,))
    return calibrate(case, trials)


def test_counts_are_exact_where_nothing_that_goes_in_can_be_disturbed() -> None:
    counts = np.array([[0.0, 2.0, 1.0, 2.0]])
    gold = {"output.t": np.array([1.0]), "output.s": counts}
    choice = Choice(path="output.t", scores="output.s", axis=1)
    trials = Trials(gold, {"again-1": {name: np.zeros_like(value) for name, value in gold.items()}})
    found = measured(counts, "int64", trials, choice)
    assert not found.reference[f"{WIDTHS_PREFIX}output.t"].any()
    assert found.choices[0].positions == 1
    assert measured(counts, "float32", trials, choice).choices == [choice], "what was rounded may be noisy"


@pytest.mark.parametrize(("gap", "parted"), [(1e-9, True), (1e-15, False)])
def test_a_mask_does_not_make_scores_equal_that_are_not_in_float64(gap: float, parted: bool) -> None:
    scores = np.array([[-9e5, 1.25, 1.25, 0.1]], dtype=np.float32).astype(float)
    exact = scores + np.array([0.0, 0.0, gap, 0.0])
    gold = {"output.t": np.array([1.0]), "output.s": scores}
    noise = {"output.t": np.zeros(1), "output.s": np.full_like(scores, 1e-7)}
    trials = Trials(gold, {"noise-1": noise}, {"output.t": np.array([1.0]), "output.s": exact})
    found = measured(scores, "float32", trials, Choice(path="output.t", scores="output.s", axis=1, ties="first"))
    assert (f"{EQUAL_PREFIX}output.t" in found.reference) == parted

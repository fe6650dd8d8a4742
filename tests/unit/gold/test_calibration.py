"""Noise in torch, the bundled gold and its correct implementations, and the arithmetic of tolerances."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from corpora.correct_variants import CORRECT, MACHINES, replayed
from goldsmith.courses.layout.layout import find_course
from goldsmith.frameworks.framework import conditions
from goldsmith.generate import replay_once
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.calibration import FLOOR_MAX, NOISY_PREFIX, Trials, calibrate
from goldsmith.gold.facts import CaseFacts, FileFacts
from goldsmith.gold.load import Gold, load_gold
from goldsmith.gold.tolerances import tolerance_ratio
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import run_parallel
from support.calibration_course import SOLUTION, advice_of, calibrated, tolerance_of
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, copy_of_example, numpy_course, recipe
from support.gold_judgement import judge

# --- torch


SUMS = """
    @gs.case
    def gold_output(case):
        case.record("y", case.input("x", lambda: torch.randn(20, 10000)).mean(1))
        case.record("last", (case.input("mask", lambda: (torch.rand(4, 9) > 0.5).float()).sum(1) - 1).long())
"""


@pytest.mark.long
def test_sums_that_cancel_get_room_and_exact_counts_stay_exact(course: CourseOnDisk) -> None:
    case = calibrated(course, SUMS, imports="import torch")["gold_output"]
    x = case.data["input"]["x"]
    in_rows = x.view(20, 100, 100).mean(2).mean(1)
    others = [x.numpy().mean(1), x @ torch.full((10000,), 1e-4), in_rows, x.double().mean(1).float()]
    for other in others:
        assert judge({"output": {"y": other, "last": case.output["last"]}}, case).agrees
    assert "output.y" in case.reference
    gold = load_gold(course.gold())
    assert not any(name.startswith("fragile") for name in advice_of(gold))


TORCH = """
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.query = torch.nn.Linear(6, 6)
            self.key = torch.nn.Linear(6, 6)

        def forward(self, x):
            scores = (self.query(x) @ self.key(x).mT / 6**0.5).softmax(-1)
            return scores @ x

    @gs.case
    def gold_output(case):
        model = case.model(Net, weights="stress", train=True)
        x = case.input("x", lambda: torch.randn(2, 5, 6))
        model(x).pow(2).mean().backward()
        case.record("y", model(x))
        case.record_gradients(model)

    @gs.case
    def trained(case):
        model = case.model(Net, weights="stress", train=True)
        x = case.input("x", lambda: torch.randn(2, 5, 6))
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            model(x).pow(2).mean().backward()
            optimiser.step()
        case.record_weights(model)
"""


@pytest.fixture(scope="module")
def torch_gold(tmp_path_factory: pytest.TempPathFactory) -> Gold:
    return calibrated(numpy_course(tmp_path_factory.mktemp("torch") / "course"), TORCH, imports="import torch")


def test_backward_and_optimiser_are_measured_too(torch_gold: Gold) -> None:
    assert tolerance_of(torch_gold, "output.gradients.query.weight").kind == "measured"
    assert 1e-7 < tolerance_of(torch_gold, "output.gradients.query.weight").max < 1e-3
    assert set(torch_gold["gold_output"].reference) == {
        "output.y",
        *(f"output.gradients.{name}.{what}" for name in ("query", "key") for what in ("weight", "bias")),
    }


def test_the_noise_of_each_submodule_is_measured_with_it(torch_gold: Gold) -> None:
    noise = torch_gold["gold_output"].entry.call_noise
    assert set(noise) == {"model", "model.query", "model.key"}
    assert all(1e-9 < value < 1e-5 for value in noise.values())


def test_what_is_zero_but_for_rounding_is_noise_with_a_limit_of_its_own(torch_gold: Gold) -> None:
    """The gradient of a key's bias is mathematically zero; Adam turns its rounding into steps of full size."""
    gradient = tolerance_of(torch_gold, "output.gradients.key.bias")
    assert gradient.noisy == 6
    assert 0 < gradient.noisy_limit < 1e-6
    case = torch_gold["trained"]
    weights = tolerance_of(torch_gold, "output.key.bias", "trained")
    assert weights.noisy
    assert weights.noise.customary > 1
    assert "could reject correct work" in weights.noise.sentence
    assert case.noisy["output.key.bias"].sum() == weights.noisy
    payload = {"output": {name: tensor.clone() for name, tensor in case.output.items()}}
    payload["output"]["key.bias"][case.noisy["output.key.bias"].argmax()] += 0.05
    assert judge(payload, case).agrees
    payload["output"]["key.bias"] += 100
    assert not judge(payload, case).agrees


def test_complex_numbers_are_disturbed_too() -> None:
    with conditions(noise=1):
        turned = torch.polar(torch.ones(64), torch.arange(64.0)) * torch.tensor(1 + 2j)
    exact = torch.polar(torch.ones(64), torch.arange(64.0)) * torch.tensor(1 + 2j)
    off = (turned - exact).abs() / exact.abs()
    assert 0 < off.max() < 1e-6


@pytest.mark.long
def test_a_case_that_cannot_run_in_float64_is_measured_all_the_same(course: CourseOnDisk) -> None:
    body = TORCH.replace("return scores @ x", "return scores @ x.bfloat16().to(x.dtype)").partition(
        "    @gs.case\n    def trained"
    )[0]
    course.write({RECIPE_FILE: recipe(body, "import torch"), SOLUTION_FILE: SOLUTION})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.out + run.err
    assert "case gold_output does not run in float64 (RoundedInside:" in run.out
    gold = load_gold(course.gold())
    assert tolerance_of(gold, "output.y").kind == "measured"
    assert "output.y" not in gold["gold_output"].reference


@pytest.mark.parametrize("name", ["scratch-1", "scratch-2", "scratch-3"])
def test_the_bundled_gold_is_measured_and_sound(tmp_path: Path, name: str) -> None:
    example = copy_of_example(tmp_path / "example")
    run = example.run("verify", name)
    assert run.code == 0, run.out
    assert " measured; 1e-4/1e-5 too tight in " in run.out
    gold = load_gold(example.gold(name))
    assert gold.manifest.calibration.failed == ()
    assert all(case.call_noise for case in gold.manifest.cases if case.models and case.traced_calls)


# --- the arithmetic


def facts_of(values: np.ndarray) -> CaseFacts:
    return CaseFacts(name="c", kind="output", file=FileFacts("c.npz", leaves=(leaf_facts("output", values),)))


arrays = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3, width=32))


@given(
    values=arrays, noise=st.floats(0, 1e-4), seed=st.integers(0, 99), scale=st.sampled_from([1.0, 2.0**-20, 2.0**12])
)
def test_every_trial_is_within_the_tolerance_that_follows_from_it(
    values: np.ndarray, noise: float, seed: int, scale: float
) -> None:
    chance = np.random.default_rng(seed)
    gold = values * scale
    trials = {f"noise-{k}": {"output": gold * chance.uniform(-noise, noise, gold.shape)} for k in range(4)}
    found = calibrate(facts_of(gold), Trials({"output": gold}, trials))
    tolerance = found.tolerances["output"]
    noisy = found.reference.get(NOISY_PREFIX + "output")
    if tolerance.kind == "customary":
        assert not any(item["output"].any() for item in trials.values())
        return
    assert tolerance.max >= FLOOR_MAX * 2.0**-52 * 0.99
    for item in trials.values():
        assert tolerance_ratio(tolerance, item["output"], gold, noisy) <= 0.34


@given(values=arrays, place=st.integers(0, 29), seed=st.integers(0, 99))
def test_what_is_ten_times_farther_off_than_the_noise_is_beyond_tolerance(
    values: np.ndarray, place: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    gold = (values + np.where(values >= 0, 1.0, -1.0)) * np.pi  # in float64, and showing it
    trials = {f"noise-{k}": {"output": gold * chance.uniform(-1e-7, 1e-7, gold.shape)} for k in range(4)}
    tolerance = calibrate(facts_of(gold), Trials({"output": gold}, trials)).tolerances["output"]
    gap = np.zeros_like(gold)
    gap[place % gap.size] = 10 * 1e-7 * np.abs(gold).max()
    assert tolerance_ratio(tolerance, gap, gold) > 1


def test_a_float64_run_that_computes_something_else_is_not_trusted() -> None:
    gold = np.linspace(1, 2, 9)
    trials = {"noise-1": {"output": np.full(9, 1e-7)}}
    case = CaseFacts(
        name="c", kind="output", file=FileFacts("c.npz", leaves=(leaf_facts("output", gold.astype("f4")),))
    )
    found = calibrate(case, Trials({"output": gold}, trials, {"output": gold + 0.1}))
    assert (found.untrusted, found.reference) == (["output"], {})
    assert found.tolerances["output"].max < 1e-5
    found = calibrate(case, Trials({"output": gold}, trials, {"output": gold + 2e-7}))
    assert list(found.reference) == ["output"]
    assert found.tolerances["output"].noise.float64 == pytest.approx(1.3e-7, rel=0.1)


# --- correct but different


def test_every_correct_implementation_of_the_corpus_can_be_made(tmp_path: Path) -> None:
    example = copy_of_example(tmp_path / "example")
    for name, corpus in CORRECT.items():
        (solution,) = (example.root / "private/solutions" / name).glob("*_solution.py")
        sources = {implementation.source(solution.read_text()) for implementation in corpus.values()}
        assert len(sources) == len(corpus) - len(MACHINES) + 1


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("scratch-1", "fused attention (SDPA)"),
        pytest.param("scratch-1", "rotation by complex numbers", marks=pytest.mark.long),
        pytest.param("scratch-1", "one sequence at a time", marks=pytest.mark.long),
        ("scratch-3", "first layer in three products"),
    ],
)
def test_correct_work_is_within_measured_tolerance(
    tmp_path: Path, warm_with_torch: ForkClient, monkeypatch: pytest.MonkeyPatch, name: str, title: str
) -> None:
    monkeypatch.setattr(replay_once, "run_parallel", partial(run_parallel, fork_server=warm_with_torch))
    course = find_course(copy_of_example(tmp_path / "example").root)
    gold = load_gold(course.assignment(name).gold)
    found = replayed(course, name, CORRECT[name][title], tmp_path)
    assert list(found) == list(gold)
    worst = {case: judge(payload, gold[case]).worst for case, payload in found.items()}
    assert max(worst.values()) <= 1, worst
    assert max(worst.values()) > 0, "it is different"

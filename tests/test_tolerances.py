"""Tolerances come from measured noise: loose enough for correct implementations, tight enough to see wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from corpus import CORRECT, MACHINES, replayed
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from courses import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, copy_of_example, numpy_course, recipe
from goldsmith.comparison import judge
from goldsmith.course import copy_example
from goldsmith.gold import CaseFacts, FileFacts, Gold, Trials, calibrate, excess, leaf_facts, load_gold
from goldsmith.gold.calibration import FLOOR_MAX, NOISY_PREFIX

MEAN = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 30).astype(np.float32))
        case.record("y", scale(x))
"""
SOLUTION = "def scale(x):\n    return (x * x).sum(axis=0) / 40\n"


def calibrated(course: CourseOnDisk, body: str, imports: str = "", solution: str = SOLUTION) -> Gold:
    course.write({RECIPE_FILE: recipe(body, imports), SOLUTION_FILE: solution})
    run = course.run("generate", "hw1", "-v", calibrate=True)
    assert run.code == 0, run.out + run.err
    return load_gold(course.gold())


def tolerance_of(gold: Gold, path: str = "output", case: str = "gold_output"):
    return next(item.tolerance for item in gold[case].entry.tensors if item.path == path)


def advice_of(gold: Gold) -> list[str]:
    return [item.name for item in gold.manifest.advice]


# --- NumPy


def test_numpy_gold_is_measured_with_its_float64_reference(course: CourseOnDisk) -> None:
    gold = calibrated(course, MEAN)
    tolerance = tolerance_of(gold)
    assert tolerance.kind == "measured"
    assert tolerance.reason == f"3 x the noise of {tolerance.noise.trials} trials"
    assert tolerance.noise.trials >= 14
    assert 1e-7 < tolerance.max < 1e-4
    case = gold["gold_output"]
    x = case.input.astype(np.float64)
    assert np.allclose(case.reference["output"], (x * x).mean(axis=0), rtol=1e-14)
    for other in ((x * x).mean(axis=0), np.einsum("ij,ij->j", case.input, case.input) / np.float32(40)):
        assert judge({"output": other}, case).agrees
    for wrong in (case.output * 1.001, case.output * -1, case.output[::-1]):
        assert not judge({"output": wrong}, case).agrees


def test_float64_gold_gets_a_float64_tolerance(course: CourseOnDisk) -> None:
    gold = calibrated(course, MEAN.replace(".astype(np.float32)", ""))
    assert 1e-15 < tolerance_of(gold).max < 1e-12


def test_measuring_again_gives_the_same_bytes_and_what_holds_is_kept(course: CourseOnDisk) -> None:
    calibrated(course, MEAN)
    before = course.gold_bytes()
    run = course.run("generate", "hw1", "--force", "-v", calibrate=True)
    assert "nothing changed, not a byte" in run.last_line
    assert "measuring noise" not in run.err, "they were kept"
    run = course.run("generate", "hw1", "--calibrate", "-v", calibrate=True)
    assert "nothing changed, not a byte" in run.last_line
    assert "measuring noise" in run.err
    assert course.gold_bytes() == before
    assert course.run("generate", "hw1", "--check", yes=False).code == 0


def test_it_can_be_switched_off_for_once_or_for_the_course(course: CourseOnDisk) -> None:
    run = course.run("generate", "hw1", "--no-calibrate", calibrate=True)
    assert "measuring" not in run.err
    assert tolerance_of(load_gold(course.gold())).kind == "customary"
    assert course.run("generate", "hw1", "--check", yes=False).code == 0
    run = course.run("generate", "hw1", calibrate=True)
    assert run.last_line.startswith("hw1: gold published"), "asked for without the flag, it is measured"
    assert tolerance_of(load_gold(course.gold())).kind == "measured"
    course.write({"goldsmith.toml": "calibrate = false\n"})
    assert course.run("generate", "hw1", calibrate=True).code == 0
    assert tolerance_of(load_gold(course.gold())).kind == "customary"
    assert load_gold(course.gold()).manifest.provenance.command == "goldsmith generate hw1"
    course.write({"goldsmith.toml": "calibrate = true\n"})
    assert course.run("generate", "hw1", calibrate=True).code == 0
    assert tolerance_of(load_gold(course.gold())).kind == "measured"


def test_a_damaged_reference_is_found_and_not_kept(course: CourseOnDisk) -> None:
    calibrated(course, MEAN)
    path = course.gold() / "gold_output.reference.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    run = course.run("verify", "hw1")
    assert run.code == 1
    assert "gold_output.reference.safetensors has other bytes" in run.out
    assert course.run("generate", "hw1", calibrate=True).code == 0
    assert course.run("verify", "hw1").code == 0


# --- what trials bring to light


def test_an_exact_output_that_rounding_can_flip_is_called_fragile(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            x = case.input("x", lambda: np.float32(1) + np.random.randn(500).astype(np.float32) * np.float32(1e-7))
            case.record("order", np.argsort(scale(x)))
    """
    gold = calibrated(course, body, solution="def scale(x):\n    return x * x\n")
    assert "fragile:gold_output" in advice_of(gold)


def test_random_numbers_that_are_not_stored_are_found(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            x = case.input("x", lambda: np.random.randn(3, 5))
            case.record("y", scale(x) + np.random.randn(5))
    """
    gold = calibrated(course, body)
    assert advice_of(gold) == ["unstored-chance:gold_output"]
    assert tolerance_of(gold).max < 1e-10, "which does not make the tolerance wider"


def test_a_case_of_pure_chaos_is_called_noisy(course: CourseOnDisk) -> None:
    solution = "def scale(x):\n    for _ in range(60):\n        x = 3.9 * x * (1 - x)\n    return x\n"
    body = MEAN.replace("np.random.randn(40, 30)", "np.random.rand(40, 30)")
    gold = calibrated(course, body, solution=solution)
    assert "noisy:gold_output" in advice_of(gold)
    assert tolerance_of(gold).noisy > 600


# --- replays that are none


ODD = """
    import enum
    RNG = np.random.default_rng(7)

    class Mode(enum.Enum):
        A, B = 1, 2

    class Tied:
        def __init__(self):
            self.emb = np.random.randn(4, 5)
            self.out = self.emb
            self.parts = [np.ones(3), None]

        def __call__(self, x):
            for _ in range(3):
                self.emb -= 0.1 * self.out
            return x @ self.out * (2 if self.parts[1] is None else 1)

    @gs.case
    def enums(case):
        mode = case.input("mode", Mode.B)
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", scale(x) * (-3 if mode is Mode.A else 3))

    @gs.case
    def tied(case):
        case.record("y", case.model(Tied)(case.input("x", lambda: np.random.randn(3, 4))))

    @gs.case
    def own_generator(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))) + RNG.normal(size=(3, 5)))
"""


def test_what_a_replay_is_given_is_what_was_recorded_or_nothing_is_measured(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(ODD)})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.out + run.err
    gold = load_gold(course.gold())
    for name in ("enums", "tied"):
        tolerance = tolerance_of(gold, case=name)
        assert (tolerance.kind, tolerance.noisy) == ("measured", 0), name
        assert tolerance.max < 1e-12
    assert tolerance_of(gold, case="own_generator").kind == "customary"
    assert "case own_generator comes out differently when it is replayed on its own gold" in run.out


def test_what_was_never_disturbed_is_not_called_measured(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            case.record("y", scale(np.arange(case.input("length", 9))))
    """
    gold = calibrated(course, body, solution="import numpy as np\ndef scale(x):\n    return np.sin(x * 0.3)\n")
    assert tolerance_of(gold).kind == "customary"


def test_numbers_that_dwarf_the_others_do_not_hide_them(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            x = case.input("x", lambda: np.random.randn(6, 5))
            case.record("y", np.where(np.arange(5) > 2, -1e9, scale(x)), allow={"range": "a mask"})
    """
    gold = calibrated(course, body, solution="def scale(x):\n    return x * 2 + 1\n")
    case = gold["gold_output"]
    assert judge({"output": case.output * (1 + 1e-15)}, case).agrees
    zeroed = np.where(case.output > -1e8, 0.0, case.output)
    assert not judge({"output": zeroed}, case).agrees
    assert not judge({"output": np.where(case.output < -1e8, -2e9, case.output)}, case).agrees


def test_a_trial_that_ends_in_nan_and_a_noisy_scalar_are_survived(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            x = case.input("x", lambda: np.concatenate([np.ones(3), np.random.rand(4)]).astype(np.float32))
            case.record("angle", np.arccos(np.clip(x, 0, 1)) if x.max() <= 1 else np.arccos(x))
            y = x[3:]
            for _ in range(60):
                y = 3.9 * y * (1 - y)
            case.record("chaos", y.sum())
    """
    gold = calibrated(course, body)
    assert tolerance_of(gold, "output.chaos").noisy == 1
    assert tolerance_of(gold, "output.angle").kind == "measured"


# --- pinned


def test_a_pinned_tolerance_needs_its_reason_and_keeps_the_evidence(course: CourseOnDisk) -> None:
    pin = '{"rtol": 1e-3, "atol": 1e-4, "reason": "any order of summation"}'
    body = MEAN.replace("scale(x))", f"scale(x), tolerance={pin})")
    tolerance = tolerance_of(calibrated(course, body))
    assert (tolerance.kind, tolerance.rtol, tolerance.reason) == ("pinned", 1e-3, "any order of summation")
    assert tolerance.noise.trials > 0
    course.write({RECIPE_FILE: recipe(body.replace(', "reason": "any order of summation"', ""))})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 3
    assert "the tolerance of 'y' cannot be read: Object missing required field `reason`" in run.out
    course.write({RECIPE_FILE: recipe(body.replace("1e-3", "-1.0"))})
    assert "has a limit that is negative or not finite" in course.run("generate", "hw1").out


def test_a_pin_holds_for_every_element_and_every_type(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def gold_output(case):
            x = case.input("x", lambda: np.random.rand(40).astype(np.float32))
            y = x
            for _ in range(60):
                y = 3.9 * y * (1 - y)
            case.record("chaos", y, tolerance={"atol": 0.5, "reason": "any point of the attractor"})
            case.record("pixels", (x * 200).astype(np.uint8), tolerance={"atol": 1, "reason": "any rounding"})
            case.record("small", scale(x) * 1e-4, tolerance={"max": 1e-2, "reason": "one per cent"})
    """
    for measured in (True, False):
        course.write({RECIPE_FILE: recipe(body), SOLUTION_FILE: "def scale(x):\n    return x + 1\n"})
        assert course.run("generate", "hw1", calibrate=measured).code == 0
        case = load_gold(course.gold())["gold_output"]
        good = dict(case.output)
        assert judge({"output": good}, case).agrees
        assert judge({"output": good | {"pixels": good["pixels"] + 1, "small": good["small"] * 1.005}}, case).agrees
        wrong = {"chaos": good["chaos"] + 0.6, "pixels": good["pixels"] + 2, "small": good["small"] * 0}
        for name, value in wrong.items():
            assert not judge({"output": good | {name: value}}, case).agrees, name


def test_text_is_compared_too(course: CourseOnDisk) -> None:
    body = MEAN + "        case.record('what', 'cat')\n"
    case = calibrated(course, body)["gold_output"]
    assert judge({"output": dict(case.output)}, case).agrees
    assert not judge({"output": case.output | {"what": "dog"}}, case).agrees
    assert not judge({"output": {"y": case.output["y"]}}, case).agrees


def test_a_pin_below_the_noise_is_called_tight(course: CourseOnDisk) -> None:
    for limit in ("max", "rtol"):
        pin = f'{{"{limit}": 1e-9, "reason": "wishful"}}'
        gold = calibrated(course, MEAN.replace("scale(x))", f"scale(x), tolerance={pin})"))
        assert advice_of(gold) == ["tight-pin:gold_output"], limit


# --- torch


SUMS = """
    @gs.case
    def gold_output(case):
        case.record("y", case.input("x", lambda: torch.randn(20, 10000)).mean(1))
        case.record("last", (case.input("mask", lambda: (torch.rand(4, 9) > 0.5).float()).sum(1) - 1).long())
"""


def test_sums_that_cancel_get_room_and_exact_counts_stay_exact(course: CourseOnDisk) -> None:
    case = calibrated(course, SUMS, imports="import torch")["gold_output"]
    x = case.data["input"]["x"]
    in_rows = x.view(20, 100, 100).mean(2).mean(1)
    others = [x.numpy().mean(1), x @ torch.full((10000,), 1e-4), in_rows, x.double().mean(1)]
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


def test_a_case_that_cannot_run_in_float64_is_measured_all_the_same(course: CourseOnDisk) -> None:
    body = TORCH.replace("return scores @ x", "return scores @ x.float()").partition("    @gs.case\n    def trained")[0]
    course.write({RECIPE_FILE: recipe(body, "import torch"), SOLUTION_FILE: SOLUTION})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.out + run.err
    assert "case gold_output does not run in float64 (RuntimeError:" in run.out
    gold = load_gold(course.gold())
    assert tolerance_of(gold, "output.y").kind == "measured"
    assert "output.y" not in gold["gold_output"].reference


@pytest.mark.parametrize("name", ["scratch-1", "scratch-2", "scratch-3"])
def test_the_bundled_gold_is_measured_and_sound(tmp_path: Path, name: str) -> None:
    example = copy_of_example(tmp_path / "example")
    run = example.run("verify", name)
    assert run.code == 0, run.out
    assert " measured; 1e-4/1e-5 could reject correct work in " in run.out
    assert load_gold(example.gold(name)).manifest.calibration.failed == ()


# --- the arithmetic


def facts_of(values: np.ndarray) -> CaseFacts:
    return CaseFacts(name="c", kind="output", file=FileFacts("c.npz", leaves=(leaf_facts("output", values),)))


SCALES = st.sampled_from([1.0, 2.0**-20, 2.0**12])
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
    assert tolerance.max >= FLOOR_MAX * 2.0**-52 * 0.99
    for item in trials.values():
        assert excess(tolerance, item["output"], gold, noisy) <= 0.34


@given(values=arrays, place=st.integers(0, 29), seed=st.integers(0, 99))
def test_what_is_ten_times_farther_off_than_the_noise_is_beyond_tolerance(
    values: np.ndarray, place: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    gold = values + np.where(values >= 0, 1.0, -1.0)
    trials = {f"noise-{k}": {"output": gold * chance.uniform(-1e-7, 1e-7, gold.shape)} for k in range(4)}
    tolerance = calibrate(facts_of(gold), Trials({"output": gold}, trials)).tolerances["output"]
    gap = np.zeros_like(gold)
    gap[place % gap.size] = 10 * 1e-7 * np.abs(gold).max()
    assert excess(tolerance, gap, gold) > 1


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
        ("scratch-1", "rotation by complex numbers"),
        ("scratch-1", "one sequence at a time"),
        ("scratch-3", "first layer in three products"),
    ],
)
def test_correct_work_is_within_measured_tolerance(tmp_path: Path, name: str, title: str) -> None:
    course = copy_example(tmp_path / "example")
    gold = load_gold(course.assignment(name).gold)
    found = replayed(course, name, CORRECT[name][title], tmp_path)
    assert list(found) == list(gold)
    worst = {case: judge(payload, gold[case]).worst for case, payload in found.items()}
    assert max(worst.values()) <= 1, worst
    assert max(worst.values()) > 0, "it is different"

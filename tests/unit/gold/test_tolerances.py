"""Tolerances come from measured noise: loose enough for correct implementations, tight enough to see wrong ones."""

from __future__ import annotations

import numpy as np

from goldsmith.gold.load import load_gold
from support.calibration_course import MEAN, advice_of, calibrated, tolerance_of
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from support.gold_judgement import judge

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
        assert judge({"output": other.astype(np.float32)}, case).agrees
    assert not judge({"output": case.output.astype(np.float64)}, case).agrees, "another dtype is never a pass"
    for wrong in (case.output * 1.001, case.output * -1, case.output[::-1]):
        assert not judge({"output": wrong}, case).agrees


def test_float64_gold_gets_a_float64_tolerance(course: CourseOnDisk) -> None:
    gold = calibrated(course, MEAN.replace(".astype(np.float32)", ""))
    assert 1e-15 < tolerance_of(gold).max < 1e-12


def test_measuring_again_gives_the_same_bytes_and_what_holds_is_kept(course: CourseOnDisk) -> None:
    calibrated(course, MEAN)
    before = course.gold_bytes()
    run = course.run("generate", "hw1", "--force", "-v", calibrate=True)
    assert "not a byte changed" in run.last_line
    assert "measuring noise" not in run.err, "they were kept"
    run = course.run("generate", "hw1", "--calibrate", "-v", calibrate=True)
    assert "not a byte changed" in run.last_line
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
    body = body.replace("scale(x))", 'scale(x), allow={"float64": "chaos", "noise": "chaos"})')
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

"""
OWN_GENERATOR = """
    @gs.case
    def own_generator(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))) + RNG.normal(size=(3, 5)))
"""


def test_what_a_replay_is_given_is_what_was_recorded(course: CourseOnDisk) -> None:
    gold = calibrated(course, ODD)
    for name in ("enums", "tied"):
        tolerance = tolerance_of(gold, case=name)
        assert (tolerance.kind, tolerance.noisy) == ("measured", 0), name
        assert tolerance.max < 1e-12


def test_gold_that_its_own_replay_does_not_meet_is_refused(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(ODD + OWN_GENERATOR)})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 3, run.out + run.err
    assert "case own_generator comes out differently when it is replayed on its own gold" in run.out
    assert "does not agree with it in own_generator" in run.last_line


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
            case.record("chaos", y.sum(), allow={"float64": "chaos"})
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

"""Another device than the CPU: models with buffers are recorded, measured and replayed there, and nothing of what they
are given stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldsmith.sandbox.capabilities import probe
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, exercise, numpy_course

SOLUTION = """
    import torch
    from torch import nn


    class Scaler(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.register_buffer("mean", torch.zeros(size))
            self.register_buffer("std", torch.ones(size))
            self.register_buffer("shuffle", torch.randperm(size))
            self.register_buffer("noise", torch.randn(size))
            self.norm = nn.BatchNorm1d(size)

        def fit(self, x):
            self.mean.copy_(x.mean(0))
            self.std.copy_(x.std(0))

        def forward(self, x):
            return self.norm((x[:, self.shuffle] - self.mean) / self.std + self.noise)


    class Policy(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.scaler = Scaler(size)
            self.head = nn.Linear(size, 3)
            self.tied = nn.Linear(size, 3)
            self.tied.weight = self.head.weight

        def forward(self, x):
            return self.tied(self.head(self.scaler(x)) @ self.head.weight)
"""
RECIPE = """
    import strict_device
    import torch

    import goldsmith as gs
    from ops import Policy


    def _policy(case, **options):
        model = case.model(Policy, 5, **options)
        model.scaler.fit(case.input("seen", lambda: torch.randn(7, 5)))
        return model


    @gs.case
    def gold_output(case):
        model = _policy(case)
        case.record("y", model(case.input("x", lambda: torch.randn(4, 5))))


    @gs.case
    def trained(case):
        model = _policy(case, weights="stress", train=True)
        batch = case.input("batch", lambda: {"x": [torch.randn(4, 5)], "y": torch.randn(4, 3)})
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = ((model(batch["x"][0]) - batch["y"]) ** 2).mean()
        loss.backward()
        case.record_gradients(model)
        optimiser.step()
        case.record("loss", loss)
        case.record_weights(model)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("devices") / "course")
    strict = (Path(__file__).parents[1] / "support/strict_device.py").read_text()
    return made.write(exercise(SOLUTION, RECIPE, "__init__") | {"src/assignments/hw1/strict_device.py": strict})


@pytest.mark.parametrize("measured", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_is_made_and_measured_on_a_device_is_met_there(
    course: CourseOnDisk, tmp_path: Path, measured: bool
) -> None:
    made = course.run("generate", "hw1", "--device", "meta", "--json", calibrate=measured)
    assert made.code == 0, made.out
    (outcome,) = made.json["assignments"]
    assert not [note for note in outcome["notes"] if "failed" in note], outcome["notes"]

    copy = course.run("check", "hw1", str(course.root / SOLUTION_FILE), "--device", "meta", "--json")
    assert copy.json["submissions"][0]["outcome"] == "agrees", copy.out
    wrong = tmp_path / "ops.py"
    wrong.write_text((course.root / SOLUTION_FILE).read_text().replace(") / self.std", ") * self.std"))
    (found,) = course.run("check", "hw1", str(wrong), "--device", "meta", "--json").json["submissions"]
    assert (found["outcome"], found["first_divergence"]) == ("differs", "scaler")


@pytest.mark.long
@pytest.mark.skipif(not probe().sufficient, reason="this machine has no sandbox")
def test_a_class_is_graded_there_and_who_runs_out_of_its_memory_loses_one_case(
    course: CourseOnDisk, tmp_path: Path
) -> None:
    if not course.gold_bytes():
        assert course.run("generate", "hw1", "--device", "meta").code == 0
    right = (course.root / SOLUTION_FILE).read_text()
    full = "if not self.training:\n            raise torch.OutOfMemoryError('CUDA out of memory. Tried 9 GiB')"
    work = {
        "ada": right,
        "ben": right.replace(") / self.std", ") * self.std"),
        "cleo": right.replace("return self.tied(", f"{full}\n        return self.tied("),
    }
    for name, text in work.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "ops.py").write_text(text)
    run = course.run("grade", "hw1", str(tmp_path), "--device", "meta", "--json")
    assert run.code == 1, run.err
    found = {item["name"]: item for item in run.json["submissions"]}
    assert {name: item["outcome"] for name, item in found.items()} == {
        "ada": "agrees", "ben": "differs", "cleo": "could-not-run",
    }  # fmt: skip
    cases = {item["name"]: item for item in found["cleo"]["cases"]}
    assert (cases["gold_output"]["outcome"], cases["gold_output"]["cause"]) == ("could-not-run", "memory")
    assert "out of memory" in cases["gold_output"]["why"]
    assert cases["trained"]["outcome"] == "agrees"
    assert found["ada"]["sandbox"].startswith("Landlock")
    missing = course.run("grade", "hw1", str(tmp_path), "--device", "cuda:99")
    assert (missing.code, "there is no device 'cuda:99' here; there " in missing.err) == (3, True), missing.err


@pytest.mark.long
def test_a_ruler_is_measured_on_a_device_and_used_there(course: CourseOnDisk, tmp_path: Path) -> None:
    assert course.run("generate", "hw1", "--device", "meta").code == 0
    copy = ("check", "hw1", str(course.root / SOLUTION_FILE), "--device", "meta")
    assert "no ruler for meta: gold's own tolerances were used" in " ".join(course.run(*copy).out.split())
    made = course.run("calibrate", "hw1", "--device", "meta", "--json")
    assert made.code == 0, made.out + made.err
    assert made.json["assignments"][0]["machine"].startswith("meta")
    right = course.run(*copy)
    assert right.code == 0, right.out
    assert "judged in meta, by the ruler" in " ".join(right.out.split())
    wrong = tmp_path / "ops.py"
    wrong.write_text((course.root / SOLUTION_FILE).read_text().replace(") / self.std", ") * self.std"))
    assert course.run("check", "hw1", str(wrong), "--device", "meta").code == 1


def test_gold_whose_trials_all_failed_is_refused(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    recipe = course.root / RECIPE_FILE
    fails = "    if case._given is not None:\n        raise ValueError('only once')\n    case.record("
    recipe.write_text(recipe.read_text().replace("    case.record(", fails))
    made = course.run("generate", "hw1", "--json", calibrate=True)
    assert made.code == 3
    (outcome,) = made.json["assignments"]
    assert (outcome["outcome"], outcome["error"]["kind"]) == ("refused", "trials-failed")
    assert "case gold_output failed, the first with ValueError: only once; " in outcome["error"]["message"]
    assert course.gold_bytes() == {}

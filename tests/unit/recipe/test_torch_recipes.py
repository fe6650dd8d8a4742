"""What a recipe can do with torch, what any other script can, and what happens where torch is not installed."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

import goldsmith
from goldsmith.instruments.module_traces import Tracer
from support.course import RECIPE_FILE, CourseOnDisk, numpy_course, recipe, record

TORCH_STARTER = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width, hidden=7):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = nn.Linear(width, hidden)
            self.down = nn.Linear(hidden, width)

        def forward(self, x):
            raise NotImplementedError

    def scale(x):
        raise NotImplementedError
"""

TORCH_SOLUTION = TORCH_STARTER.replace(
    "raise NotImplementedError\n\n    def scale",
    "return self.down(torch.relu(self.up(self.norm(x)))), x.mean()\n\n    def scale",
).replace("def scale(x):\n        raise NotImplementedError", "def scale(x):\n        return x * 2")


@pytest.fixture
def torch_course(course: CourseOnDisk) -> CourseOnDisk:
    return course.write(
        {"src/assignments/hw1/ops.py": TORCH_STARTER, "private/solutions/hw1/ops_solution.py": TORCH_SOLUTION}
    )


# --- a recipe that is any script ------------------------------------------------------------------------------


SCRIPT = """
    import argparse
    import sys
    from pathlib import Path
    import torch
    from ops import scale

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--output", type=Path)
        out = parser.parse_args().output
        x = torch.randn(2, 3)
        torch.save({"input": x, "output": scale(x), "seed": 42, "model_config": {"width": 3}}, out / "gold_output.pt")
        torch.save({"anything": torch.arange(4)}, out / "extra.pt")
        return 0

    if __name__ == "__main__":
        sys.exit(main())
"""


def test_any_script_with_output_is_verified_documented_and_published(torch_course: CourseOnDisk) -> None:
    torch_course.write({RECIPE_FILE: SCRIPT})
    run = torch_course.run("generate", "hw1", "--json")
    assert run.code == 0, run.out + run.err
    assert [check["outcome"] for check in run.json["assignments"][0]["checks"]] == ["passed"] * 11 + ["warned"]
    gold = goldsmith.load(torch_course.gold())
    assert list(gold) == ["extra", "gold_output"]
    assert torch.equal(gold["gold_output"].output, gold["gold_output"].input * 2)
    assert "gold_output.pt" in (torch_course.gold() / "README.md").read_text()
    assert gold.manifest.provenance.mode == "script"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"seed": 42, ', ""), "gold_output.pt lacks seed"),
        pytest.param(
            ('torch.arange(4)}, out / "extra.pt")', 'scale}, out / "extra.pt")'),
            "extra.pt does not load",
            marks=pytest.mark.long,
        ),
        pytest.param(("out / ", "Path('/dev/null').parent / 'shm' / "), "wrote nothing", marks=pytest.mark.long),
    ],
)
def test_a_script_is_held_to_the_same_checks(torch_course: CourseOnDisk, change: tuple[str, str], words: str) -> None:
    torch_course.write({RECIPE_FILE: textwrap.dedent(SCRIPT).replace(*change)})
    run = torch_course.run("generate", "hw1")
    assert run.code == 3
    assert words in run.last_line
    assert not torch_course.gold().exists()
    for name in ("gold_output.pt", "extra.pt"):
        Path("/dev/shm", name).unlink(missing_ok=True)


# --- torch ------------------------------------------------------------------------------------------------------


TORCH_RECIPE = """
    @gs.case
    def gold_output(case):
        model = case.model(Net, 5)
        case.record("y", case.first(model(case.input("x", lambda: torch.randn(2, 3, 5)))), shape=(2, None, 5))

    @gs.case
    def stressed(case):
        model = case.model(Net, width=5, weights="stress")
        y, mean = model(case.input("x", lambda: torch.randn(2, 3, 5)))
        y.sum().backward()
        case.record_gradients(model)
        case.record("both", (y, mean))

    @gs.case
    def steps(case):
        model = case.model(Net, width=5, train=True)
        assert model.training
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in case.input("batches", lambda: [torch.randn(4, 5) for _ in range(3)]):
            optimizer.zero_grad()
            model(x)[0].pow(2).mean().backward()
            optimizer.step()
        case.record_weights(model)

    @gs.case
    def odd_types(case):
        case.record("bf16", torch.randn(3).bfloat16())
        case.record("half", torch.randn(3).half())
        case.record("complex", torch.randn(3, dtype=torch.complex64))
        case.record("bool", torch.tensor([True, False]))
        case.record("empty", torch.zeros(0, 3), allow={"constant": "an empty batch"})
        case.record("scalar", torch.tensor(2.5))
        case.record("view", torch.arange(12.0).view(3, 4).t())
        case.record("numpy", np.arange(3))

    @gs.checkpoint
    def gold_checkpoint(case):
        model = case.model(Net, 5)
        with torch.no_grad():
            model.up.bias.add_(1)
        case.checkpoint(model, epoch=3, loss=torch.tensor(0.25), training_config={"lr": 0.1}, note="kept")
"""


@pytest.fixture(scope="module")
def torch_gold(tmp_path_factory: pytest.TempPathFactory) -> Any:
    course = numpy_course(tmp_path_factory.mktemp("torch") / "course").write(
        {"src/assignments/hw1/ops.py": TORCH_STARTER, "private/solutions/hw1/ops_solution.py": TORCH_SOLUTION}
    )
    return record(course, TORCH_RECIPE, "import torch\nfrom ops import Net")


def test_plain_torch_load_reads_the_required_keys(torch_gold: Any) -> None:
    output = torch.load(torch_gold.folder / "gold_output.pt")
    assert {"input", "output", "seed", "model_config", "state_dict"} <= output.keys()
    assert output["seed"] == 42
    assert output["model_config"] == {"width": 5}
    checkpoint = torch.load(torch_gold.folder / "gold_checkpoint.pt")
    assert {"model_state_dict", "epoch", "loss", "seed", "training_config"} <= checkpoint.keys()
    assert (checkpoint["epoch"], checkpoint["loss"], checkpoint["note"]) == (3, 0.25, "kept")
    assert torch.equal(checkpoint["model_state_dict"]["up.bias"], checkpoint["state_dict"]["up.bias"] + 1)


def test_stress_leaves_no_parameter_at_its_identity(torch_gold: Any) -> None:
    weights = torch_gold["stressed"].state_dict
    assert (weights["norm.weight"] - 1).abs().min() >= 0.1
    assert weights["norm.bias"].abs().min() >= 0.1
    assert weights["up.weight"].std() < 1


def test_gradients_and_weights_after_steps_are_recorded_by_parameter(torch_gold: Any) -> None:
    names = set(torch_gold["stressed"].state_dict)
    assert set(torch_gold["stressed"].output["gradients"]) == names
    steps = torch_gold["steps"]
    assert set(steps.output) == names
    assert not torch.equal(steps.output["up.weight"], steps.state_dict["up.weight"])


def test_dtypes_views_and_arrays_survive(torch_gold: Any) -> None:
    output = torch_gold["odd_types"].output
    assert output["bf16"].dtype == torch.bfloat16
    assert output["complex"].dtype == torch.complex64
    assert output["view"].shape == (4, 3)
    assert output["view"].untyped_storage().nbytes() == 48
    assert torch.equal(output["numpy"], torch.arange(3))
    assert output["empty"].shape == (0, 3)
    entries = {item.path: item for item in torch_gold.manifest.cases[3].tensors}
    assert entries["output.scalar"].mean == 2.5
    assert entries["output.bf16"].tolerance.reason


def test_traces_hold_every_submodule_in_the_order_it_ran(torch_gold: Any) -> None:
    with safe_open(torch_gold.folder / "gold_output.trace.safetensors", "pt") as file:
        index = json.loads(file.metadata()["goldsmith"])
        modules = [entry["module"] for entry in index]
        assert modules == ["", "norm", "up", "down"]
        root, norm, up, down = index
        gold = torch_gold["gold_output"]
        assert torch.equal(file.get_tensor(root["inputs"][0]), gold.input)
        assert torch.equal(file.get_tensor(root["outputs"][0]), gold.output)
        assert up["inputs"] == norm["outputs"]
        expected = gold.output
        assert torch.equal(file.get_tensor(down["outputs"][0]), expected)
    steps = torch_gold.manifest.cases[2]
    assert (steps.traced_calls, steps.calls) == (3, 3)


def test_torch_not_installed_while_needed(torch_course: CourseOnDisk, without_torch: Path) -> None:
    torch_course.write({RECIPE_FILE: recipe(TORCH_RECIPE, "import torch\nfrom ops import Net")})
    run = torch_course.run("generate", "hw1", python=without_torch)
    assert run.code == 3
    assert "needs torch, which is not installed; install it with `pip install torch`." in run.last_line


def test_verifying_torch_gold_where_torch_is_missing_is_no_verdict(example: CourseOnDisk, without_torch: Path) -> None:
    run = example.run("verify", "scratch-1", python=without_torch)
    assert run.code == 3
    assert "gold_output.pt needs torch, which is not installed" in run.err


def test_numpy_recipes_work_where_torch_is_not_installed(course: CourseOnDisk, without_torch: Path) -> None:
    run = course.run("generate", "hw1", "--json", python=without_torch)
    assert run.code == 0, run.out + run.err
    assert goldsmith.load(course.gold()).manifest.provenance.environment.torch is None
    assert course.run("status", python=without_torch).code == 0


def test_calls_are_counted_and_chance_is_noticed_after_the_last_that_is_kept() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    whole, parts = Tracer(), Tracer()
    whole.attach("model", model.eval(), model.state_dict)
    for _ in range(5):
        model(torch.ones(1, 2))
    whole.detach()
    assert (whole.calls, whole.kept, whole.drew) == (5, 3, False)
    parts.attach("model", model.train(), model.state_dict)
    for _ in range(5):
        model[0](torch.ones(1, 2))
    model[1](torch.ones(1, 2))
    assert (parts.calls, parts.kept, parts.drew) == (6, 3, True)
